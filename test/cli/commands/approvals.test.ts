import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openApproverKey, rawKeyOf } from '../../../src/cli/identity/approver-key.ts';
import { requestOf } from '../../auth/approvals/approval-fixture.ts';
import { CALLER_TOKEN, makeApprovalHub, tokenOf } from '../approval-hub.ts';
import { withDirectory } from '../cli-fixture.ts';

const UNLOCK = ['call', 'matter:unlock', '--params', '{"pin":"4711","seconds":5}'];

/** The id that an agent's refused call was told. */
async function asked(hub: Awaited<ReturnType<typeof makeApprovalHub>>): Promise<string> {
  const { json } = await hub.atmo([...UNLOCK, '--json'], { ATMO_TOKEN: CALLER_TOKEN });
  return json().error.details.approval_id;
}

describe('a dangerous call', () => {
  test('of the owner is approved by the call, and leaves the proof', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const env = await hub.makeOwner(dir);
      expect(await hub.atmo([...UNLOCK, '--json'], env)).toMatchObject({ code: 0, err: '' });
      expect(hub.unlocked).toEqual([{ pin: '4711', seconds: 5 }]);
      expect(hub.notes.map(({ event }) => event)).toEqual(['approver.enrolled', 'approval.requested', 'approval.given', 'approval.used']);
      expect(JSON.stringify([hub.notes, hub.heard])).not.toMatch(/"4711\\*"/);
    });
  });

  test('of an agent is refused with exit code 3 and the id, whatever keys are on the machine', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const env = { ...(await hub.makeOwner(dir)), ATMO_TOKEN: CALLER_TOKEN };
      const { code, err, out } = await hub.atmo([...UNLOCK, '--json'], env);
      expect(code).toBe(3);
      const { approval_id: id } = JSON.parse(out).error.details;
      expect(err).toContain(`atmo approve ${id}`);
      expect(hub.viewOf(id)).toMatchObject({ state: 'pending', given: 0, params: { pin: '[secret]', seconds: 5 } });
      expect(hub.unlocked).toEqual([]);
    });
  });

  test("of the owner's token without the owner's key waits as well", async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const { ATMO_STATE_DIR } = await hub.makeOwner(dir);
      expect((await hub.atmo(UNLOCK, { ATMO_TOKEN: readFileSync(join(ATMO_STATE_DIR ?? '', 'owner.token'), 'utf8') })).code).toBe(3);
      expect(hub.unlocked).toEqual([]);
    });
  });

  test('that needs two persons gets one approval from the owner, the other from another person', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub({ persons: 2 });
      const env = await hub.makeOwner(dir);
      const ann = await hub.enrol('ann');
      expect((await hub.atmo(UNLOCK, env)).code).toBe(3);
      expect((await hub.atmo(UNLOCK, env)).code).toBe(3);
      const [request] = hub.queue.list();
      expect(request?.view).toMatchObject({ state: 'pending', needed: 2, given: 1 });
      if (request) await hub.say(request.view, ann);
      expect((await hub.atmo(UNLOCK, env)).code).toBe(0);
      expect(hub.unlocked).toHaveLength(1);
    });
  });

  test('waits for the others where the owner is no approver any more', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const env = await hub.makeOwner(dir);
      await hub.enrol('ann');
      await hub.approvers.remove(hub.approvers.keysOf('owner')[0]?.keyId ?? '');
      expect(await hub.atmo(UNLOCK, env)).toMatchObject({ code: 3, err: expect.stringContaining('APPROVAL_REQUIRED') });
    });
  });
});

describe('a person', () => {
  test('sees the agent and the action, approves it, and the call runs once', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const env = await hub.makeOwner(dir);
      const id = await asked(hub);
      const listed = await hub.atmo(['approvals'], env);
      expect(listed.out).toMatch(new RegExp(`${id} +pending +0/1 .*kitchen wants: Unlock the front door`));
      const shown = await hub.atmo(['approvals', id.slice(0, 8)], env);
      expect(shown.out).toContain('pin: [secret], seconds: 5');
      expect(shown.out).toContain('matter:unlock@1.0.0 (dangerous)');
      const approved = await hub.atmo(['approve', id.slice(0, 8)], env);
      expect(approved).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^approved, 1 of 1 approvals given; the same call of kitchen now runs once, until 2026/),
      });
      expect(approved.err).toContain('Approving as owner: kitchen wants: Unlock the front door (pin: [secret], seconds: 5)');
      expect((await hub.atmo(UNLOCK, { ATMO_TOKEN: CALLER_TOKEN })).code).toBe(0);
      expect((await hub.atmo(UNLOCK, { ATMO_TOKEN: CALLER_TOKEN })).code).toBe(3);
      expect(hub.unlocked).toHaveLength(1);
    });
  });

  test('reads the effect, device and room, and finds ids and Matter paths in the JSON', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const env = await hub.makeOwner(dir);
      const { approval_id: id } = await hub.file(requestOf({ title: 'Unlock', params: { pin: '[secret]' } }));
      const listed = await hub.atmo(['approvals'], env);
      expect(listed.out).toMatch(/kitchen wants: Unlock Front door \(Hall\) \(pin: \[secret\]\)\n$/);
      const shown = await hub.atmo(['approvals', id.slice(0, 8)], env);
      expect(shown.out).toMatch(/^touches +Unlock Front door \(Hall\) \(dangerous\)$/m);
      expect(listed.out + shown.out).not.toContain('DoorLock');
      expect((await hub.atmo(['approvals', id, '--json'], env)).json()).toMatchObject({
        effects: [{ target: 'door/1/DoorLock/UnlockDoor' }],
        devices: [{ id: 'door', name: 'Front door', area: 'Hall' }],
      });
    });
  });

  test('allows a call for an hour or refuses a device, sees what holds on, and ends it', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const env = await hub.makeOwner(dir);
      const lamp = { permission: 'device:control:lamp', risk: 'low', target: 'lamp/1/OnOff/On' } as const;
      const lampRequest = (callHash: string) => hub.file(requestOf({ effects: [lamp], callHash, title: 'Turn on', params: {} }));
      const [hour, refused] = [await lampRequest('aa'.repeat(32)), await lampRequest('bb'.repeat(32))];
      expect((await hub.atmo(['approve', hour.approval_id, '--for-hour'], env)).code).toBe(0);
      expect(await hub.atmo(['refuse', refused.approval_id], env)).toMatchObject({ code: 0, out: expect.stringContaining('denied') });
      const listed = await hub.atmo(['approvals', 'standing'], env);
      expect(listed.out).toMatch(/owner +2026-\S+ +kitchen may do this again: Turn on Floor lamp \(Hall\)/);
      expect(listed.out).toMatch(/owner +you remove it +kitchen may not use Floor lamp \(Hall\)/);
      const removed = await hub.atmo(['approvals', 'remove', refused.approval_id.slice(0, 8)], env);
      expect(removed).toMatchObject({ code: 0, out: 'removed: kitchen may not use Floor lamp (Hall)\n' });
      expect((await hub.atmo(['approvals', 'standing', '--json'], env)).json().answers).toMatchObject([{ answer: 'approve_for_hour' }]);
    });
  });

  test('is told of a call that waits as a job, and that it runs when it is approved', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const env = await hub.makeOwner(dir);
      const waits = await hub.atmo([...UNLOCK, '--wait-for-approval'], { ATMO_TOKEN: CALLER_TOKEN });
      const [request] = hub.queue.list();
      const id = request?.view.approval_id ?? '';
      expect(waits).toMatchObject({
        code: 0,
        out: expect.stringContaining(`runs when it is approved: a person agrees with "atmo approve ${id}"`),
      });
      expect(request?.view).toMatchObject({ runs_when_approved: true });
      expect((await hub.atmo(['approve', id], env)).err).toContain('It runs when it is approved.');
    });
  });

  test('denies, and the agent gets the name of the person', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const env = await hub.makeOwner(dir);
      const id = await asked(hub);
      expect(await hub.atmo(['deny', id, '--json'], env)).toMatchObject({ code: 0 });
      const told = await hub.atmo(UNLOCK, { ATMO_TOKEN: CALLER_TOKEN });
      expect(told).toMatchObject({ code: 3, err: expect.stringMatching(/owner has denied .* refused until 2\d{3}-/s) });
      expect((await hub.atmo(['approve', id], env)).code).toBe(2);
      expect((await hub.atmo(['approvals', '--json'], env)).json().approvals).toEqual([]);
      expect((await hub.atmo(['approvals', '--all', '--json'], env)).json().approvals).toMatchObject([{ state: 'denied' }]);
    });
  });

  test('signs with the key that is named, in the environment or as option', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub({ persons: 2 });
      const owner = await hub.makeOwner(dir);
      const file = join(dir, 'ann.key');
      expect((await hub.atmo(['approver', 'enroll', 'ann', '--new', file, '--label', 'laptop'], owner)).out).toMatch(/^ann may approve/);
      const id = await asked(hub);
      const ann = { HOME: join(dir, 'home'), ATMO_STATE_DIR: join(dir, 'none'), ATMO_TOKEN: tokenOf('ann') };
      expect((await hub.atmo(['approve', id], ann)).err).toContain('There is no approver key');
      expect((await hub.atmo(['approve', id, '--json'], { ...ann, ATMO_APPROVER_KEY_FILE: file })).json()).toMatchObject({ given: 1 });
      expect((await hub.atmo(['approve', id, '--key-file', file], ann)).err).toContain('counts once');
      expect((await hub.atmo(['approve', id, '--json'], owner)).json()).toMatchObject({ state: 'approved' });
    });
  });

  test('with an unknown, invalid or readable key signs nothing', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const env = await hub.makeOwner(dir);
      const id = await asked(hub);
      const file = join(dir, 'stranger.key');
      openApproverKey(file);
      expect(await hub.atmo(['approve', id, '--key-file', file], env)).toMatchObject({
        code: 2,
        err: expect.stringContaining('is not enrolled'),
      });
      chmodSync(file, 0o644);
      expect((await hub.atmo(['approve', id, '--key-file', file], env)).err).toContain('chmod 600');
      expect((await hub.atmo(['approve', id, '--key-file', join(dir, 'none')], env)).err).toContain('cannot be read');
      expect((await hub.atmo(['approve', 'ffff'], env)).err).toContain('No request begins with "ffff"');
      expect((await hub.atmo(['approve', 'f'.repeat(32)], env)).code).toBe(2);
    });
  });
});

describe('approvers', () => {
  test('are enrolled and removed by the owner, each with a signed approval', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const env = await hub.makeOwner(dir);
      const made = (await hub.atmo(['approver', 'key', '--json'], env)).json();
      expect(statSync(made.file).mode & 0o777).toBe(0o600);
      expect((await hub.atmo(['approver', 'key'], env)).out).toBe(`${made.key}\n`);
      const enrolled = (await hub.atmo(['approver', 'enroll', 'ann', '--key', made.key, '--json'], env)).json();
      expect(enrolled).toMatchObject({ person: 'ann', key: made.key });
      expect((await hub.atmo(['approvers'], env)).out).toMatch(new RegExp(`ann +${enrolled.key_id}[\\s\\S]*owner .*owner.key`));
      expect((await hub.atmo(['approver', 'remove', ''], env)).err).toContain(
        'More than one key begins with ""; atmo approvers lists the ids',
      );
      expect((await hub.atmo(['approver', 'remove', enrolled.key_id.slice(0, 8)], env)).out).toContain(
        `key ${enrolled.key_id} of ann is removed`,
      );
      expect(hub.notes.filter(({ event }) => event === 'approval.used')).toHaveLength(2);
      const [{ keyId } = { keyId: '' }] = hub.approvers.list();
      expect(await hub.atmo(['approver', 'remove', keyId], env)).toMatchObject({
        code: 2,
        err: expect.stringContaining('last approver key'),
      });
    });
  });

  test('cannot be enrolled by a person alone, nor by an agent', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const env = await hub.makeOwner(dir);
      const raw = rawKeyOf(openApproverKey(join(dir, 'k')));
      const alone = await hub.atmo(['approver', 'enroll', 'ben', '--key', raw], { ...env, ATMO_TOKEN: tokenOf('ann') });
      expect(alone).toMatchObject({ code: 3, err: expect.stringContaining('APPROVAL_REQUIRED') });
      expect((await hub.atmo(['approver', 'enroll', 'ben', '--key', raw], { ...env, ATMO_TOKEN: CALLER_TOKEN })).code).not.toBe(0);
      expect((await hub.atmo(['approver', 'enroll', 'ben'], env)).err).toContain('either --key RAW or --new FILE');
      expect(hub.approvers.list().map(({ person }) => person)).toEqual(['owner']);
      expect(existsSync(join(dir, 'home/.config'))).toBe(false);
    });
  });
});
