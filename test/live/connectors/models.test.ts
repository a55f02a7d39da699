import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { RunningHub } from '../running-hub.ts';
import { onLoopback } from './loopback-server.ts';
import { modelServer } from './model-server.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
/** A second of silence: 8 kHz, 8 bits. */
const WAV = (() => {
  const head = Buffer.from('RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\x40\x1f\0\0', 'latin1');
  head.writeUInt32LE(36 + 8_000, 4);
  return Buffer.concat([head, Buffer.alloc(8_000, 128)]).toString('base64');
})();

let stateDir: string;
let hub: RunningHub;
let endpoint: Awaited<ReturnType<typeof modelServer>>;
beforeAll(async () => {
  endpoint = await modelServer();
  stateDir = mkdtempSync(join(tmpdir(), 'models-'));
  const model = (id: string, ...tasks: readonly string[]) => ({ endpoint: 'house', model: id, tasks });
  const config = {
    matter: { enabled: false },
    connectors: {
      web: { allowed_hosts: ['127.0.0.1'] },
      models: {
        endpoints: {
          house: { url: endpoint.url, key: 'env:MODEL_KEY' },
          wrong: { url: endpoint.url, key: 'env:WRONG_KEY' },
          gone: { url: 'http://127.0.0.1:9/v1' },
        },
        models: {
          small: { ...model('llama', 'llm', 'vision'), options: { keep_alive: '10m' } },
          busy: model('busy', 'llm'),
          page: model('page', 'llm'),
          breaks: model('breaks', 'llm'),
          hangs: model('hangs', 'llm'),
          locked: { ...model('llama', 'llm'), endpoint: 'wrong' },
          away: { ...model('llama', 'llm'), endpoint: 'gone' },
          ears: model('whisper', 'speech'),
          plain: model('plain', 'speech'),
          words: model('letters', 'embeddings'),
          forecast: { ...model('load', 'run'), path: '/forecast' },
        },
      },
    },
  };
  hub = await RunningHub.start({ stateDir, config, env: { MODEL_KEY: 'sk-house', WRONG_KEY: 'sk-wrong-4711' } });
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await endpoint?.[Symbol.asyncDispose]();
  rmSync(stateDir, { recursive: true, force: true });
});

const errorOf = async (tool: string, params: JsonObject) => ({ ...(await hub.call(tool, params)) }) as { error?: JsonObject };

describe('language models', () => {
  test('write what they are asked for, with the key, the bounds and the options of the owner', async () => {
    expect(await hub.result('llm_complete', { prompt: 'Hello', system: 'Be short', max_tokens: 20, temperature: 0 })).toEqual({
      text: 'You said: Hello',
      model_used: 'small',
      tokens_used: { prompt: 9, completion: 4 },
      finish_reason: 'stop',
    });
    expect(endpoint.last()).toEqual({
      path: '/chat/completions',
      authorization: 'Bearer sk-house',
      body: {
        model: 'llama',
        max_tokens: 20,
        temperature: 0,
        keep_alive: '10m',
        messages: [
          { role: 'system', content: 'Be short' },
          { role: 'user', content: 'Hello' },
        ],
      },
    });
  });

  test('are heard word by word through the door of the hub', async () => {
    const response = await hub.request('/api/v1/tools/core:llm_complete/invoke', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/x-ndjson' },
      body: JSON.stringify({ prompt: 'one two three', stream: true }),
    });
    const frames = (await response.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; partial?: { text: string }; result?: JsonObject });
    const parts = frames.filter(({ type }) => type === 'tool_chunk').map(({ partial }) => partial?.text);
    expect(parts.length).toBeGreaterThan(2);
    expect(parts.join('')).toBe('You said: one two three');
    expect(frames.at(-1)).toMatchObject({ type: 'tool_response', result: { text: parts.join(''), tokens_used: { completion: 4 } } });
  });

  test('write programs', async () => {
    const result = await hub.result('tool_codegen', { spec: '```sh\nls\n```' });
    expect(result).toEqual({ code: 'ls', language: 'sh', model_used: 'small' });
  });

  test('that fail say how, and never with the key', async () => {
    const asking = async (model: string, more: JsonObject = {}) =>
      (await errorOf('llm_complete', { prompt: 'a b c d', model, ...more })).error;
    expect(await asking('busy')).toMatchObject({ code: 'RATE_LIMITED', details: { retry_after: '7' } });
    expect(await asking('page')).toMatchObject({ code: 'SERVICE_REFUSED', message: expect.stringContaining('no JSON') });
    expect(await asking('away')).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(await asking('breaks', { stream: true })).toMatchObject({
      code: 'SERVICE_REFUSED',
      message: expect.stringContaining('half a stream'),
    });
    expect(await asking('nobody')).toMatchObject({ code: 'VALIDATION_ERROR', message: expect.stringContaining('small, busy') });
    const locked = await asking('locked');
    expect(locked).toMatchObject({ code: 'SERVICE_REFUSED', details: { status: 401 } });
    expect(JSON.stringify(locked)).not.toContain('sk-wrong-4711');
    expect(hub.log.join('\n')).not.toMatch(/sk-house|sk-wrong/);
  });

  test('that never answer are given up at the deadline', async () => {
    const response = await hub.request('/api/v1/tools/core:llm_complete/invoke', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-timeout-ms': '700' },
      body: JSON.stringify({ prompt: 'x', model: 'hangs' }),
    });
    expect(await response.json()).toMatchObject({ error: { code: 'TIMEOUT' } });
  });
});

describe('models that see, hear and measure', () => {
  test('get pictures as data, from base64 and from the web', async () => {
    await using site = await pictureSite();
    const found = { result: 'image/png of 70 bytes', confidence: 0.75, model_used: 'small' };
    expect(await hub.result('analyze_image', { image: PNG })).toMatchObject(found);
    expect(await hub.result('analyze_image', { image: `data:image/png;base64,${PNG}`, task: 'ocr' })).toMatchObject(found);
    expect(await hub.result('analyze_image', { image: site.url, task: 'custom', prompt: 'A dot?' })).toMatchObject(found);
    const [{ content }] = (endpoint.last()?.body.messages ?? [{}]) as [{ content: { text?: string }[] }];
    expect(content[0]?.text).toContain('Request: A dot?');
    expect((await errorOf('analyze_image', { image: PNG, task: 'custom' })).error).toMatchObject({ code: 'VALIDATION_ERROR' });
  });

  test('reach nothing private that the owner did not allow', async () => {
    const { error } = await errorOf('analyze_image', { image: 'http://169.254.169.254/latest/meta-data' });
    expect(error).toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  test('get recordings as a file of a form, and tell when what was said', async () => {
    const heard = 'heard audio.wav audio/wav 8044';
    expect(await hub.result('transcribe_audio', { audio: WAV, language: 'de', timestamps: true })).toEqual({
      text: heard,
      language: 'de',
      segments: [
        { start: 0, end: 3, text: 'heard' },
        { start: 3, end: 4, text: 'audio.wav audio/wav 8044' },
      ],
      // Three seconds at 0.9 and one at 0.5: the geometric mean.
      confidence: 0.777,
      model_used: 'ears',
    });
    expect(endpoint.last()).toMatchObject({ path: '/audio/transcriptions', body: { model: 'whisper', response_format: 'verbose_json' } });
    expect(await hub.result('transcribe_audio', { audio: WAV, model: 'plain' })).toEqual({
      text: heard,
      segments: [],
      model_used: 'plain',
    });
    const { segments } = await hub.result('transcribe_audio', { audio: WAV });
    expect(segments).toEqual([{ text: 'heard' }, { text: 'audio.wav audio/wav 8044' }]);
  });

  test('answer vectors in the order of the texts', async () => {
    const vectorsOf = async (text: string | readonly string[]) =>
      (await hub.result('generate_embedding', { text })).embeddings as number[][];
    const [abba = [], b = []] = await vectorsOf(['abba', 'b']);
    expect([abba.length, abba.slice(0, 3), b.slice(0, 3)]).toEqual([26, [2, 2, 0], [0, 1, 0]]);
    expect(await vectorsOf('b')).toEqual([b]);
  });

  test('run in their own form', async () => {
    expect(await hub.result('run_model', { model: 'forecast', input: [3], params: { hours: 2, model: 'another' } })).toMatchObject({
      output: { kilowatts: [3, 3] },
      model_used: 'forecast',
      latency_ms: expect.any(Number),
    });
    expect(endpoint.last()?.body.model).toBe('load');
    expect(await hub.result('run_model', { model: 'small', input: 'Hi' })).toMatchObject({
      output: { choices: [{ message: { content: 'You said: Hi' } }] },
    });
    expect((await errorOf('run_model', { model: 'ears', input: 'Hi' })).error).toMatchObject({ code: 'VALIDATION_ERROR' });
  });

  test('find documents again', async () => {
    await hub.result('rag_add', {
      documents: [
        { id: 'zoo', content: 'zebra jazz fizz' },
        { id: 'lake', content: 'still lake at nine' },
      ],
    });
    expect(await hub.result('rag_search', { query: 'jazz zebra', limit: 1 })).toMatchObject({
      documents: [{ id: 'zoo', content: 'zebra jazz fizz' }],
      total_searched: 2,
    });
  });
});

async function pictureSite() {
  const server = createServer((_, response) => response.end(Buffer.from(PNG, 'base64')));
  const listening = await onLoopback(server);
  return { ...listening, url: `${listening.url}/dot.png` };
}
