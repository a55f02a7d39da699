import { describe, expect, it } from 'vitest';
import type { ToolContext } from '../../src/tools/definition/tool-definition.ts';
import { settled } from '../calls/pipeline-fixture.ts';
import { makeHttpApi } from '../http/http-fixture.ts';
import { legacyClient, modernClient } from './mcp-clients.ts';

const PATH = '/mcp/devices';

/** A tool that tells how far it is and ends when it is told to, or when its call is given up. */
function slowTool() {
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const given = Promise.withResolvers<void>();
  const handler = async (_params: object, { signal, progress }: ToolContext) => {
    signal.addEventListener('abort', () => given.resolve());
    progress(0.5, 'half way');
    begun.resolve();
    await Promise.race([end.promise, given.promise]);
    return { ok: true };
  };
  const tool = { name: 'slow', description: 'Takes its time', execution: { stream_supported: true }, handler };
  return { tool, begun: begun.promise, finish: () => end.resolve(), givenUp: given.promise };
}

type Api = ReturnType<typeof makeHttpApi>['httpApi'];
type CallOptions = { readonly onprogress?: (progress: unknown) => void; readonly signal?: AbortSignal };

const SLOW = { name: 'slow', arguments: {} };
const CALLS = {
  '2026-07-28': async (httpApi: Api, options: CallOptions) => (await modernClient(httpApi, { path: PATH })).callTool(SLOW, options),
  '2025-11-25': async (httpApi: Api, options: CallOptions) =>
    (await legacyClient(httpApi, { path: PATH })).callTool(SLOW, undefined, options),
};

describe('a call that takes long', () => {
  for (const [era, callSlow] of Object.entries(CALLS)) {
    it(`tells clients of ${era} how far it is`, async () => {
      const { httpApi, addTool } = makeHttpApi();
      const slow = slowTool();
      addTool(slow.tool);
      const heard: unknown[] = [];
      const call = callSlow(httpApi, { onprogress: (progress) => void heard.push(progress) });
      await slow.begun;
      await settled();
      slow.finish();
      await call;
      expect(heard).toEqual([{ progress: 0.5, total: 1, message: 'half way' }]);
    });

    it(`ends when a client of ${era} gives it up`, async () => {
      const { httpApi, addTool } = makeHttpApi();
      const slow = slowTool();
      addTool(slow.tool);
      const cancel = new AbortController();
      const call = callSlow(httpApi, { signal: cancel.signal }).catch(() => 'gave up');
      await slow.begun;
      cancel.abort('no longer needed');
      expect(await call).toBe('gave up');
      await expect(slow.givenUp).resolves.toBeUndefined();
    });
  }
});
