import { describe, expect, test, vi } from 'vitest';
import { isJsonObject, type Json, type JsonObject, textsOf, tryParseJson } from '../../../src/core/json.ts';
import { AutomationDraft } from '../../../src/web/pages/automation-draft.ts';

const EVENING: JsonObject = { trigger: { type: 'time', at: '19:30' }, actions: [{ tool: 'core:light' }] };
const NEEDED = ['device:control:lamp'];

/** A hub that reads JSON as text and needs one permission. What it answers to a call waits for `release` while `isHeld`, and is an error while `isBusy`. */
function fakeHub() {
  const calls: JsonObject[] = [];
  const held: (() => void)[] = [];
  const state = { isHeld: false, isBusy: false, hasTools: true };
  const convert = ({ text, config, permissions }: JsonObject) => {
    const given = textsOf(permissions);
    const read = typeof text === 'string' ? tryParseJson(text) : config;
    const source = typeof text === 'string' ? text : JSON.stringify(config);
    if (!isJsonObject(read)) return { text: source, problems: [{ line: 1, pointer: '', message: 'no object' }], lacks: [], unneeded: [] };
    const lacks = NEEDED.filter((one) => !given.includes(one));
    return { text: source, config: read, problems: [], lacks, unneeded: given.filter((one) => !NEEDED.includes(one)), view: {} };
  };
  return {
    calls,
    state,
    release: () => {
      for (const go of held.splice(0)) go();
    },
    async invoke(tool: string, params: JsonObject = {}): Promise<Json> {
      if (tool === 'list_flags') return { flags: [{ flag: 'night' }] };
      if (tool === 'show_automation') return { config: EVENING, permissions: [...NEEDED, 'presence:read'] };
      calls.push(params);
      if (state.isBusy) throw new Error('Too many texts');
      const answer = convert(params) as unknown as Json;
      if (state.isHeld) await new Promise<void>((go) => held.push(go));
      return answer;
    },
    async get<Answer>(path: string): Promise<Answer> {
      if (!state.hasTools && path.startsWith('/api/v1/tools/')) throw new Error('The hub is away');
      const answer: Json =
        path === '/api/v1/people' ? { people: [{ name: 'ann', title: 'Ann', role: 'adult' }] } : { id: 'core:light@1.0.0', name: 'light' };
      return answer as Answer;
    },
  };
}

async function begun(id?: string) {
  const hub = fakeHub();
  const draft = new AutomationDraft(hub, () => {});
  await draft.begin(id);
  return { hub, draft };
}

describe('a draft of an automation', () => {
  test('begins with the automation as it is, its permissions, the tools that it calls and the household', async () => {
    const { draft } = await begun('evening');
    expect(draft.config).toEqual(EVENING);
    expect(draft.definition).toEqual({ config: EVENING, permissions: ['device:control:lamp', 'presence:read'] });
    expect(draft.tool('core:light')?.name).toBe('light');
    expect(draft.household).toEqual({ people: [{ value: 'ann', title: 'Ann' }], flags: ['night'] });
  });

  test('is saved with exactly the permissions that are shown, after those that it does not need were taken away', async () => {
    const { hub, draft } = await begun('evening');
    draft.takeAway(['presence:read']);
    await draft.settled();
    expect(hub.calls.at(-1)).toMatchObject({ permissions: ['device:control:lamp'] });
    expect(draft.permissions).toEqual(['device:control:lamp']);
    expect(draft.definition?.permissions).toEqual(['device:control:lamp']);
  });

  test('gets the permissions that it lacks, and cannot be saved while the hub reads it', async () => {
    const { hub, draft } = await begun();
    const changed = { ...EVENING, cooldown_seconds: 5 };
    hub.state.isHeld = true;
    draft.change(changed);
    expect(draft.config).toEqual(changed);
    expect(draft.definition).toBeUndefined();
    hub.state.isHeld = false;
    hub.release();
    await vi.waitFor(() => expect(draft.definition).toEqual({ config: changed, permissions: NEEDED }));
  });

  test('is the same as text: what the form has changed a moment ago is in it', async () => {
    const { draft } = await begun('evening');
    const changed = { ...EVENING, cooldown_seconds: 5 };
    draft.change(changed);
    await draft.toText();
    expect(JSON.parse(draft.text)).toEqual(changed);
    expect(draft.config).toEqual(changed);
    expect(draft.definition?.config).toEqual(changed);
  });

  test('loads a tool again after the load of it failed', async () => {
    const hub = fakeHub();
    hub.state.hasTools = false;
    const draft = new AutomationDraft(hub, () => {});
    await draft.begin('evening');
    expect(draft.tool('core:light')).toBeUndefined();
    hub.state.hasTools = true;
    await draft.refresh();
    expect(draft.tool('core:light')?.name).toBe('light');
  });

  test('stays with the form if the hub does not write the text, so that no change is lost', async () => {
    const { hub, draft } = await begun('evening');
    const changed = { ...EVENING, cooldown_seconds: 5 };
    hub.state.isBusy = true;
    draft.change(changed);
    expect(await draft.toText()).toBe(false);
    expect(draft.config).toEqual(changed);
    hub.state.isBusy = false;
    expect(await draft.toText()).toBe(true);
    expect(JSON.parse(draft.text)).toEqual(changed);
  });

  test('is what was written last, also if the hub answers about an earlier text later', async () => {
    const { hub, draft } = await begun('evening');
    hub.state.isHeld = true;
    draft.change({ ...EVENING, cooldown_seconds: 1 });
    await vi.waitFor(() => expect(hub.calls.at(-1)).toMatchObject({ config: { cooldown_seconds: 1 } }));
    hub.state.isHeld = false;
    draft.change({ ...EVENING, cooldown_seconds: 2 });
    await vi.waitFor(() => expect(draft.definition?.config).toMatchObject({ cooldown_seconds: 2 }));
    hub.release();
    await draft.settled();
    expect(draft.definition?.config).toMatchObject({ cooldown_seconds: 2 });
  });

  test('is read as soon as the person pauses, or at once when it is to be saved', async () => {
    vi.useFakeTimers();
    try {
      const { hub, draft } = await begun('evening');
      const before = hub.calls.length;
      draft.write('{');
      draft.write('{"trigger": []}');
      expect(hub.calls.length).toBe(before);
      expect(draft.problems).toEqual([]);
      await draft.settled();
      expect(hub.calls.slice(before)).toMatchObject([{ text: '{"trigger": []}' }]);
      draft.write('nothing');
      await vi.advanceTimersByTimeAsync(600);
      expect(draft.problems).toMatchObject([{ message: 'no object' }]);
      expect(draft.config).toBeUndefined();
      expect(draft.definition).toBeUndefined();
    } finally {
      vi.useRealTimers();
    }
  });
});
