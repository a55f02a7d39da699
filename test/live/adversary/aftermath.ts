import { createPrivateKey, type KeyObject } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/core/clock.ts';
import { EventBus } from '../../../src/core/events.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import type { AuditVerification } from '../../../src/core/storage/audit-log.ts';
import { AuditStore } from '../../../src/storage/audit/audit-store.ts';
import { StateStore } from '../../../src/storage/state-store.ts';
import { journalParts } from '../../storage/storage-services.ts';
import { signaturesOf } from './arms.ts';
import type { Exchange } from './attacker.ts';
import { type BesiegedHome, SECOND_PERSON } from './besieged-home.ts';
import { PIN } from './besieged-house.ts';

/** Files that are there to hold a secret, each its own. */
const SECRET_FILES = ['owner.token', 'owner.key', 'hub.key'].flatMap((name) => [name, `${name}.kept`]);

interface Secret {
  readonly name: string;
  readonly bytes: Buffer;
}

/** What is left of it all once the hub has stopped. `exchanges` tells everything that anybody was ever told at the door. */
export function describeAftermath(besieged: () => BesiegedHome, exchanges: () => readonly Exchange[]): void {
  describe('what is left behind', () => {
    let rows: string;
    let hubId: string;

    beforeAll(async () => {
      rows = JSON.stringify(await besieged().journal());
      hubId = String((JSON.parse(rows) as { hub: string }[])[0]?.hub);
      await besieged().hub.stop();
    });

    test('holds no token, code, PIN, key or signature: log, journal, events, answers', () => {
      const home = besieged();
      const places = {
        log: home.hub.log.join('\n'),
        journal: rows,
        events: JSON.stringify(home.events.events),
        answers: exchanges()
          .map(({ heard }) => heard.replace(/"token":"at1\.[\w-]+(?:\.[\w-]+)?"/g, ''))
          .join('\n'),
      };
      expect(places.log.length).toBeGreaterThan(10_000);
      expect(rows.length).toBeGreaterThan(100_000);
      const secrets = secretsOf(home, exchanges());
      expect(secrets.length).toBeGreaterThan(100);
      const found = Object.entries(places).flatMap(([place, text]) => findings(place, Buffer.from(text), secrets));
      expect(found).toEqual([]);
    });

    test('holds none in any file, but each key and the owner’s token in its own, and tokens of automations in state.db', () => {
      const home = besieged();
      const secrets = secretsOf(home, exchanges());
      const files = filesOf(home.stateDir).filter((file) => !SECRET_FILES.includes(basename(file)));
      for (const wanted of ['audit.db', 'history.db', 'state.db']) expect(files.map((file) => basename(file))).toContain(wanted);
      expect(files.flatMap((file) => findings(basename(file), readFileSync(file), secrets))).toEqual([]);
    });

    test('is a journal that a changed byte makes wrong', async () => {
      const { stateDir } = besieged();
      expect(await verified(stateDir, hubId, () => undefined)).toMatchObject({ intact: true });
      const changed = await verified(stateDir, hubId, (copy) => changeOneByte(join(copy, 'audit.db')));
      expect(changed).toMatchObject({ intact: false, problem: { seq: expect.any(Number), reason: expect.stringMatching(/changed/) } });
    });
  });
}

/** Everything that must not be found, in the ways in which it could be written. */
function secretsOf(home: BesiegedHome, exchanges: readonly Exchange[]): readonly Secret[] {
  const spawned = exchanges.flatMap(({ heard }) => heard.match(/at1\.[\w-]+(?:\.[\w-]+)?/g) ?? []);
  const ownerToken = readFileSync(join(home.stateDir, 'owner.token'), 'utf8').trim();
  const keys = ['owner.key', 'hub.key'].map((file) => createPrivateKey(readFileSync(join(home.stateDir, file))));
  const tokens = [...new Set([...home.tokens, ...spawned.filter(isWhole)])];
  return [
    text('owner token', ownerToken),
    ...tokens.flatMap((token) => [text('token', token), ...signaturesOf(token).flatMap((bytes) => written('signature of a token', bytes))]),
    ...home.setupCodes.map((code) => text('setup code', code)),
    ...written('PIN', Buffer.from(PIN)),
    text('PIN', PIN),
    ...[home.approverKey, ...keys].flatMap((key) => written('private key', seedOf(key))),
  ];
}

/** A token that the hub made; the attacker's own inventions are none. */
function isWhole(token: string): boolean {
  try {
    return signaturesOf(token).length > 0;
  } catch {
    return false;
  }
}

function text(name: string, value: string): Secret {
  return { name, bytes: Buffer.from(value) };
}

function written(name: string, bytes: Buffer): readonly Secret[] {
  // The last sign of base64 may carry bits of what follows.
  const base64 = (['base64', 'base64url'] as const).map((form) => text(name, bytes.toString(form).replace(/=+$/, '').slice(0, -1)));
  return [{ name, bytes }, text(name, bytes.toString('hex')), ...base64];
}

function seedOf(key: KeyObject): Buffer {
  return Buffer.from(String(key.export({ format: 'jwk' }).d), 'base64url');
}

function findings(place: string, content: Buffer, secrets: readonly Secret[]): readonly string[] {
  return secrets
    .filter(({ bytes }) => content.includes(bytes))
    .map(({ name, bytes }) => `${name} ${bytes.toString('latin1').slice(0, 24)} in ${place}`);
}

function filesOf(directory: string): readonly string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** What a check says of a copy of the journal to which something was done. */
async function verified(stateDir: string, hubId: string, change: (copy: string) => void): Promise<AuditVerification> {
  const copy = `${stateDir}-copy-${Math.random().toString(16).slice(2)}`;
  cpSync(stateDir, copy, { recursive: true });
  change(copy);
  const collaborators = { clock: systemClock, logger: silentLogger, events: new EventBus('copy', systemClock), ...journalParts(copy) };
  const places = { directory: copy, snapshotDirectory: join(copy, 'snapshots') };
  await using anchors = new StateStore(collaborators, places);
  await anchors.start();
  await using audit = new AuditStore({ ...collaborators, anchors }, { ...places, hubId });
  await audit.start();
  return await audit.verify();
}

/** Makes another person of the second one who agreed. */
function changeOneByte(file: string): void {
  const bytes = readFileSync(file);
  const at = bytes.indexOf(`"${SECOND_PERSON}"]`);
  expect(at).toBeGreaterThan(0);
  bytes[at + 1] = (bytes[at + 1] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}
