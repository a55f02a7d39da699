import { createHash, verify } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { announcementJson } from '../../../scripts/bench/announcement-json.ts';
import { sigStructure, verifySign1 } from '../../../src/codec/cose-sign1.ts';
import { type HubState, stateDigest } from '../../../src/codec/messages/announced-state.ts';
import {
  type Announcement,
  applyChanges,
  assemble,
  changesBetween,
  isUnchanged,
  openAnnouncement,
  pagesOf,
  paginate,
  signAnnouncement,
} from '../../../src/codec/messages/announcement.ts';
import { ANNOUNCEMENTS, HUB, KEY, LARGE_STATE, PUBLIC_KEY, STATE } from './message-samples.ts';

function full(state: HubState): Announcement {
  const chain = [new Uint8Array(280), new Uint8Array(280)];
  const header = { hubId: HUB, epoch: 1, sequence: 1, timeMs: 0, ttlSeconds: 300, digest: stateDigest(state) };
  return { kind: 'full', ...header, certificate: chain, state: paginate(state).announced };
}

function houseOf(count: number): HubState {
  const tools = Array.from({ length: count }, (_, index) => ({
    id: `matter:room_${String(index).padStart(4, '0')}_lamp_turn_on@1.0.0`,
    hash: (0x1000_0000_0000_0000n + BigInt(index)).toString(16),
    capability: 0,
  }));
  return { ...STATE, tools };
}

describe('an announcement', () => {
  test.each([0, 40, 400, 2_000, 4_096])('of %d tools has at most 4,096 bytes with a certificate of two links', (count) => {
    const envelope = signAnnouncement(full(houseOf(count)), KEY);
    expect(envelope.length).toBeLessThanOrEqual(4_096);
    expect(openAnnouncement(envelope, () => PUBLIC_KEY).kind).toBe('full');
  });

  test('is not signed when it would be longer', () => {
    const inline = (count: number): Announcement => {
      const state = { ...paginate(STATE).announced, tools: { kind: 'inline', entries: houseOf(count).tools } } as const;
      return { ...full(STATE), kind: 'full', certificate: [Uint8Array.of(1)], state };
    };
    let count = 40;
    while (signAnnouncement(inline(count), KEY).length < 4_060) count += 1;
    for (const more of [5, 100, 300]) {
      expect(() => signAnnouncement(inline(count + more), KEY)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
    }
  });

  test('is not made of more tools or devices than the limits', () => {
    const devices = Array.from({ length: 513 }, (_, index) => ({ id: `lamp-${index}`, name: 'Lamp', type: 'light', isReachable: true }));
    expect(() => stateDigest(houseOf(4_097))).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
    expect(() => stateDigest({ ...STATE, devices })).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
    expect(stateDigest({ ...STATE, devices: devices.slice(1) })).toMatch(/^[0-9a-f]{32}$/);
  });

  test('is not signed with the same tool twice', () => {
    expect(() => stateDigest({ ...STATE, tools: [...STATE.tools, ...STATE.tools] })).toThrow('stands there twice');
  });

  test('is the same for any order of tools and devices', () => {
    const { announced } = paginate(LARGE_STATE);
    const reversed = { ...LARGE_STATE, tools: LARGE_STATE.tools.toReversed(), devices: LARGE_STATE.devices?.toReversed() ?? null };
    expect(paginate(reversed).announced).toEqual(announced);
    expect(stateDigest(reversed)).toBe(stateDigest(LARGE_STATE));
  });

  test('has tools whose names differ only behind the default version', () => {
    const ids = ['core:lamp@1.0.0', 'core:lamp@2.0.0', 'core:lamp.a@1.0.0', 'core:lamp0@1.0.0'];
    const tools = ids.map((id) => ({ id, hash: '0102030405060708' }));
    const opened = openAnnouncement(signAnnouncement(full({ ...STATE, tools }), KEY), () => PUBLIC_KEY);
    if (opened.kind !== 'full' || opened.state.tools.kind !== 'inline') throw new RangeError('Another kind came out');
    expect(opened.state.tools.entries.map(({ id }) => id).sort()).toEqual(ids.toSorted());
  });
});

describe('a state in pages', () => {
  test('stays inline while it is short, and has no pages then', () => {
    expect(paginate(STATE).announced.tools).toEqual({ kind: 'inline', entries: STATE.tools });
    expect(paginate(STATE).pages.size).toBe(0);
  });

  test('is complete once all pages are present, in any order', () => {
    const { announced, pages } = paginate(LARGE_STATE);
    expect(new Set(pagesOf(announced))).toEqual(new Set(pages.keys()));
    expect(assemble(announced, (hash) => pages.get(hash))).toEqual(LARGE_STATE);
    const [missing] = pagesOf(announced);
    expect(assemble(announced, (hash) => (hash === missing ? undefined : pages.get(hash)))).toBeUndefined();
  });

  test('is refused with a page that does not have its hash', () => {
    const { announced, pages } = paginate(LARGE_STATE);
    const [other = new Uint8Array()] = [...pages.values()].reverse();
    expect(() => assemble(announced, () => other)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
  });

  test('is refused when its pages have another order, or one occurs twice', () => {
    const { announced, pages } = paginate(LARGE_STATE);
    if (announced.tools.kind !== 'paged') throw new RangeError('The sample is too small');
    const { hashes } = announced.tools;
    const pageOf = (hash: string) => pages.get(hash);
    const [first = ''] = hashes;
    for (const others of [hashes.toReversed(), [first, ...hashes]]) {
      expect(() => assemble({ ...announced, tools: { kind: 'paged', hashes: others } }, pageOf)).toThrow('ascending order');
    }
  });

  test('has pages of 32 to 128 entries, but for the last', () => {
    const { announced, pages } = paginate(houseOf(4_096));
    const sizes = pagesOf(announced).map(
      (hash) => assemble({ ...announced, tools: { kind: 'paged', hashes: [hash] } }, (one) => pages.get(one))?.tools.length ?? 0,
    );
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(4_096);
    expect(sizes.slice(0, -1).filter((size) => size < 32 || size > 128)).toEqual([]);
  });

  test('changes one page when a tool comes, goes or changes in nine of ten cases, and never many', () => {
    const before = houseOf(2_000);
    const known = paginate(before).pages;
    const replaced = Array.from({ length: 30 }, (_, step) => {
      const index = step * 61;
      const without = { ...before, tools: before.tools.toSpliced(index, 1) };
      return [...paginate(without).pages.keys()].filter((hash) => !known.has(hash)).length;
    });
    expect(Math.max(...replaced)).toBeLessThanOrEqual(4);
    expect(replaced.filter((count) => count <= 1).length).toBeGreaterThanOrEqual(20);
  });

  test('has the digest of the whole state, with or without pages', () => {
    const { announced, pages } = paginate(LARGE_STATE);
    const whole = assemble(announced, (hash) => pages.get(hash));
    expect(whole && stateDigest(whole)).toBe(stateDigest(LARGE_STATE));
    expect(stateDigest(LARGE_STATE)).not.toBe(stateDigest(STATE));
    expect(stateDigest(STATE)).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe('changes of a state', () => {
  const tool = fc.record({
    id: fc.nat(30).map((number) => `matter:lamp_${number}@1.0.0`),
    hash: fc.constantFrom('0000000000000000', 'ffffffffffffffff'),
  });
  const device = fc.record({
    id: fc.nat(30).map((number) => `lamp-${number}`),
    name: fc.constantFrom('Lamp', 'Light'),
    type: fc.constant('on_off_light'),
    isReachable: fc.boolean(),
  });
  const sorted = <Entry extends { readonly id: string }>(entry: fc.Arbitrary<Entry>) =>
    fc.uniqueArray(entry, { selector: ({ id }) => id, maxLength: 20 }).map((all) => all.toSorted((a, b) => (a.id < b.id ? -1 : 1)));
  const state = fc.record({ tools: sorted(tool), devices: sorted(device), name: fc.constantFrom('Hall', 'Attic') });

  test('lead from one state to the other, also over the wire', () => {
    fc.assert(
      fc.property(state, state, (before, after) => {
        const [from, to] = [
          { ...STATE, ...before },
          { ...STATE, ...after },
        ];
        const changes = changesBetween(from, to);
        if (!changes) throw new RangeError('There are no changes between states of one version');
        const header = { hubId: HUB, epoch: 1, sequence: 2, timeMs: 0, ttlSeconds: 300, digest: stateDigest(to) };
        const envelope = signAnnouncement({ kind: 'delta', ...header, baseSequence: 1, changes }, KEY);
        const told = openAnnouncement(envelope, () => PUBLIC_KEY);
        if (told.kind !== 'delta') throw new RangeError('Another kind came out');
        expect(stateDigest(applyChanges(from, told.changes))).toBe(told.digest);
        expect(isUnchanged(changes)).toBe(stateDigest(from) === stateDigest(to));
      }),
      { numRuns: 100 },
    );
  });

  test('do not exist when the version changed or devices began to be announced', () => {
    expect(changesBetween(STATE, { ...STATE, version: '2.0.0' })).toBeUndefined();
    expect(changesBetween(STATE, { ...STATE, devices: null })).toBeUndefined();
  });

  test('of devices are refused for a hub that announces none', () => {
    const changes = changesBetween(STATE, { ...STATE, devices: [] });
    expect(changes && (() => applyChanges({ ...STATE, devices: null }, changes))).toThrow(
      expect.objectContaining({ code: 'VALIDATION_ERROR' }),
    );
  });
});

describe('the JSON form of an announcement', () => {
  const [announcement] = ANNOUNCEMENTS;
  if (!announcement) throw new RangeError('There are no samples');
  const envelope = signAnnouncement(announcement, KEY);
  const definition = { tool: { name: 'notify', description: 'Tells somebody', parameters: { type: 'object' } } };
  const json = announcementJson({
    announcement,
    state: STATE,
    envelope,
    definitionOf: (hash) => (hash === '1112131415161718' ? definition : undefined),
  });

  test('has type, node, time and signature', () => {
    expect(json).toMatchObject({ type: 'capability_announce', node_id: HUB, timestamp: '2026-01-01T00:00:00.000Z' });
    const signature = String(json.signature);
    expect(signature).toMatch(/^ed25519:[A-Za-z0-9_-]{86}$/);
    const externalAad = Buffer.from('atmosphere-edge announcement v1');
    const payload = verifySign1(envelope, { externalAad, keyOf: () => PUBLIC_KEY });
    const signed = sigStructure(Uint8Array.of(0xa1, 0x01, 0x27), externalAad, payload);
    expect(verify(null, signed, PUBLIC_KEY, Buffer.from(signature.slice('ed25519:'.length), 'base64url'))).toBe(true);
  });

  test('lists tools under the capability that they need, and devices under the bridge', () => {
    expect(json.capabilities).toEqual([
      {
        type: 'matter_bridge',
        description: 'Matter/Thread bridge with 1 devices',
        tools: [
          {
            name: 'matter:hall_lamp_turn_off',
            description: 'Tells somebody',
            parameters_hash: `sha256:${createHash('sha256').update('{"type":"object"}').digest('hex')}`,
          },
          { name: 'matter:hall_lamp_turn_on' },
        ],
        devices: [{ id: 'hall-lamp', name: 'Hall lamp', type: 'dimmable_light', reachable: true }],
      },
      { type: 'vision', description: 'Image analysis', tools: [] },
      { type: 'general', description: 'Tools that need no capability', tools: [{ name: 'core:notify' }] },
    ]);
  });

  test('has the constraints of a capability with each of its tools', () => {
    const vision = { ...STATE, tools: [{ id: 'core:ocr@1.0.0', hash: '0102030405060708', capability: 1 }] };
    const { capabilities } = announcementJson({ announcement, state: vision, envelope, definitionOf: () => undefined });
    expect(capabilities).toContainEqual({
      type: 'vision',
      description: 'Image analysis',
      tools: [{ name: 'core:ocr', constraints: { gpu: true, max_image_mb: 50, model: 'llava:7b' } }],
    });
  });
});
