import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DnsCommand } from '../../../src/http/tls/dns-command.ts';

const RECORD = { name: '_acme-challenge.hub.example.org', value: 'proof' };
const never = new AbortController().signal;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dns-command-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('the command for DNS records', () => {
  test('is told what to do in its environment, and learns none of the secrets of the hub', async () => {
    const file = join(folder, 'env');
    const env = { PATH: process.env.PATH, ATMO_TOKEN: 'secret' };
    const dns = new DnsCommand({ command: ['sh', '-c', 'env >>"$0"', file], env });
    await dns.add(RECORD, never);
    await dns.remove(RECORD, never);
    const text = readFileSync(file, 'utf8');
    expect(text.match(/^ATMO_DNS_ACTION=.*$/gm)).toEqual(['ATMO_DNS_ACTION=add', 'ATMO_DNS_ACTION=remove']);
    expect(text).toContain(`ATMO_DNS_NAME=${RECORD.name}\n`);
    expect(text).toContain(`ATMO_DNS_VALUE=${RECORD.value}\n`);
    expect(text).not.toContain('secret');
  });

  test.each([
    [['sh', '-c', 'echo first >&2; echo "no such zone" >&2; exit 3'], 'ended with 3: no such zone'],
    [['sh', '-c', 'exit 1'], 'ended with 1'],
    [['/nonexistent/program'], 'cannot be started'],
  ])('that fails is told with its last line: %j', async (command, reason) => {
    const dns = new DnsCommand({ command, env: process.env });
    await expect(dns.add(RECORD, never)).rejects.toMatchObject({ code: 'SERVICE_REFUSED', message: expect.stringContaining(reason) });
  });

  test('that does not end is stopped with all that it started', async () => {
    const file = join(folder, 'pid');
    const command = ['sh', '-c', 'sleep 600 & echo $! >"$0"; wait', file];
    const dns = new DnsCommand({ command, env: process.env, timeoutMs: 500 });
    await expect(dns.add(RECORD, never)).rejects.toMatchObject({ message: expect.stringContaining('longer than 500 ms') });
    const pid = Number(readFileSync(file, 'utf8'));
    await expect.poll(() => stateOf(pid)).toMatch(/^(gone|Z)$/);
  });

  test('is stopped when the hub stops', async () => {
    const stop = new AbortController();
    const file = join(folder, 'pid-of-stopped');
    const dns = new DnsCommand({ command: ['sh', '-c', 'echo $$ >"$0"; sleep 600', file], env: process.env });
    const added = dns.add(RECORD, stop.signal);
    await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8')).toMatch(/\d/);
    stop.abort(new Error('stopping'));
    await expect(added).rejects.toThrow('stopping');
    await expect.poll(() => stateOf(Number(readFileSync(file, 'utf8')))).toMatch(/^(gone|Z)$/);
  });
});

/** The state of a process, as proc_pid_stat(5) has it. */
function stateOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '')[0] ?? '';
  } catch {
    return 'gone';
  }
}
