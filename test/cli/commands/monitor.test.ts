import { createPrivateKey } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CliIo } from '../../../src/cli/cli-io.ts';
import { openApproverKey, rawKeyOf } from '../../../src/cli/identity/approver-key.ts';
import { approverKeyPath, writeLogin } from '../../../src/cli/identity/credential.ts';
import { configDir } from '../../../src/cli/identity/user-files.ts';
import { type Login, loginOfFragment } from '../../../src/web/api/session.ts';
import { TOKEN } from '../../http/http-fixture.ts';
import { makeApprovalHub, tokenOf } from '../approval-hub.ts';
import { atmo, withDirectory } from '../cli-fixture.ts';

const URL_HERE = 'http://127.0.0.1:8081';

/** The hub with real approvals, and a page; `tls` is what it tells of its way for other machines. */
async function makeHubWithPage(dir: string, tls: object = { enabled: false, url: URL_HERE }) {
  const hub = await makeApprovalHub();
  const env = await hub.makeOwner(dir);
  const fetch: CliIo['fetch'] = async (url, init) => {
    const { pathname } = new URL(url);
    if (pathname === '/') return new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } });
    return pathname === '/api/v1/tls' ? Response.json(tls) : hub.fetch(url, init);
  };
  const run = (argv: readonly string[], io: Partial<Omit<CliIo, 'stdin'>> = {}) => atmo(['monitor', ...argv], { fetch, env, ...io });
  return { hub, env, run };
}

/** The login in a link, as the page itself reads it. */
function loginIn(link: string): Login | undefined {
  return loginOfFragment(new URL(link).hash);
}

/** The public half of the key in a login: what the seed is worth. */
function publicKeyOf({ key = '' }: Login = { token: '' }): string {
  const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.from(String(key), 'base64url')]);
  return rawKeyOf(createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }));
}

describe('atmo monitor', () => {
  test("gives the owner a token for the page alone, with the owner's key to approve", async () => {
    await withDirectory(async (dir) => {
      const { hub, run } = await makeHubWithPage(dir);
      const { code, out, err } = await run([]);
      expect(code).toBe(0);
      expect(out).toMatch(/^http:\/\/127\.0\.0\.1:8081\/#login=[A-Za-z0-9_.~-]+\n$/);
      expect(err).toContain('Whoever has this link');
      const login = loginIn(out.trim());
      expect(login).toMatchObject({ token: tokenOf('monitor'), person: 'owner' });
      expect(out).not.toContain(Buffer.from(TOKEN).toString('base64url').slice(0, 12));
      expect(hub.approvers.keysOf('owner')).toMatchObject([{ key: publicKeyOf(login) }]);
    });
  });

  test('uses the token and key of a person who has logged in', async () => {
    await withDirectory(async (dir) => {
      const { env, run } = await makeHubWithPage(dir);
      const home = env.HOME ?? '';
      writeLogin(configDir({ HOME: home }), { url: URL_HERE, person: 'ann', token: tokenOf('ann') });
      expect(loginIn((await run(['--json'])).json().link)).toEqual({ token: tokenOf('ann'), person: 'ann' });
      const key = openApproverKey(approverKeyPath(configDir({ HOME: home })));
      const { link, ...facts } = (await run(['--json'])).json();
      expect(facts).toEqual({ url: URL_HERE, person: 'ann', may_approve: true });
      expect(publicKeyOf(loginIn(link))).toBe(rawKeyOf(key));
    });
  });

  test('uses ATMO_TOKEN, with the key of this user where it is enrolled', async () => {
    await withDirectory(async (dir) => {
      const { hub, env, run } = await makeHubWithPage(dir);
      const own = { HOME: env.HOME, ATMO_STATE_DIR: join(dir, 'none'), ATMO_TOKEN: tokenOf('ann') };
      expect(loginIn((await run(['--json'], { env: own })).json().link)).toEqual({ token: tokenOf('ann') });
      await hub.atmo(['login', '--person', 'ann'], env);
      expect(loginIn((await run(['--json'], { env: own })).json().link)).toMatchObject({ person: 'ann', key: expect.any(String) });
    });
  });

  test('prints the SSH command at a terminal over SSH', async () => {
    await withDirectory(async (dir) => {
      const { env, run } = await makeHubWithPage(dir);
      let shown = '';
      const stdout = { write: (text: string) => (shown += text), isTTY: true, columns: 400 };
      await run([], { stdout, env: { ...env, USER: 'pi', SSH_CONNECTION: '192.0.2.7 50000 192.0.2.9 22', NO_COLOR: '1' } });
      expect(shown).toContain('ssh -N -L 8081:127.0.0.1:8081 pi@192.0.2.9');
      shown = '';
      await run([], { stdout });
      expect(shown).not.toContain('ssh');
    });
  });

  test('opens a browser without the link in the list of processes', async () => {
    await withDirectory(async (dir) => {
      const { env, run } = await makeHubWithPage(dir);
      const runtime = join(dir, 'run');
      mkdirSync(runtime);
      let opened = '';
      let page = '';
      const openFile = async (file: string) => {
        opened = file;
        page = readFileSync(file, 'utf8');
        expect([statSync(file).mode & 0o777, statSync(dirname(file)).mode & 0o777]).toEqual([0o600, 0o700]);
      };
      const { code, out, err } = await run(['--open'], { openFile, env: { ...env, DISPLAY: ':0', XDG_RUNTIME_DIR: runtime } });
      expect([code, err]).toEqual([0, '']);
      expect(`${out}${opened}`).not.toContain('#login=');
      expect(loginIn(JSON.parse(/replace\((".*")\)/.exec(page)?.[1] ?? '""'))).toMatchObject({ person: 'owner' });
      expect(existsSync(opened)).toBe(false);
      const without = await run(['--open'], { openFile, env });
      expect(without).toMatchObject({ code: 2, err: expect.stringContaining('run "atmo monitor"') });
    });
  });

  test('shows an address that a phone can reach, or the settings for one', async () => {
    await withDirectory(async (dir) => {
      const { run } = await makeHubWithPage(dir);
      expect(await run(['--qr'])).toMatchObject({ code: 2, err: expect.stringContaining('/etc/atmosphere-edge/environment') });
    });
    await withDirectory(async (dir) => {
      const { run } = await makeHubWithPage(dir, { enabled: true, url: 'https://hub.local:8081' });
      expect((await run(['--qr', '--json'])).json()).toMatchObject({
        url: 'https://hub.local:8081',
        link: expect.stringMatching(/^https:/),
      });
    });
  });

  test('shows a QR code where it fits, else the width that it needs', async () => {
    await withDirectory(async (dir) => {
      const { run } = await makeHubWithPage(dir, { enabled: true, url: 'https://hub.local:8081' });
      const shownAt = async (columns: number) => {
        let shown = '';
        await run(['--qr'], { stdout: { write: (text: string) => (shown += text), isTTY: true, columns } });
        return shown;
      };
      const wide = await shownAt(200);
      const width = wide.indexOf('\n');
      expect(wide).toMatch(/^█+\n██ ▄▄▄▄▄ █/);
      expect(await shownAt(width)).toContain('██ ▄▄▄▄▄ █');
      expect(await shownAt(width - 1)).toMatch(new RegExp(`^The QR code needs ${width} columns[^█]*$`));
    });
  });

  test('reports a missing token, page or hub', async () => {
    await withDirectory(async (dir) => {
      const { hub, env, run } = await makeHubWithPage(dir);
      expect(await run([], { fetch: hub.fetch })).toMatchObject({ code: 2, err: expect.stringContaining('npm run build') });
      const stranger = await run([], { env: { ATMO_STATE_DIR: join(dir, 'none'), HOME: join(dir, 'none') } });
      expect(stranger).toMatchObject({ code: 3, err: expect.stringContaining('sudo atmo login') });
      writeFileSync(join(env.ATMO_STATE_DIR ?? '', 'owner.token'), TOKEN);
      expect((await atmo(['monitor'], { env })).code).toBe(5);
    });
  });
});
