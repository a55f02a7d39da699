import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { makeHttpApi } from '../http/http-fixture.ts';
import { atmo, fetchFrom, withDirectory } from './cli-fixture.ts';

const PICTURE = Buffer.alloc(900, 7);
const BYTES = { type: 'string', contentEncoding: 'base64' };

/** A hub with a camera, and a person in a folder. */
function makeHome() {
  const setup = makeHttpApi();
  let taken = 0;
  const returns = { type: 'object', properties: { image: BYTES, thumb: BYTES, format: { type: 'string' } } };
  setup.addTool({
    name: 'snap',
    execution: { async_allowed: true },
    returns,
    parameters: { type: 'object', properties: { note: { type: 'string' }, small: { type: 'boolean' } } },
    handler: async ({ small }) => {
      taken += 1;
      const image = PICTURE.toString('base64');
      return { format: 'jpeg', ...(small === undefined ? { image } : small === true ? { image, thumb: 'AAEC' } : {}) };
    },
  });
  setup.addTool({ name: 'dumb', handler: async () => ({ image: 'AAEC' }) });
  const run = (...argv: string[]) => atmo(argv, { fetch: fetchFrom(setup.httpApi) });
  return { run, taken: () => taken };
}

describe('atmo call --output', () => {
  test('writes the bytes of the answer into a new file, and prints its name', () =>
    withDirectory(async (dir) => {
      const { run } = makeHome();
      const file = `${dir}/door.jpg`;
      expect(await run('call', 'snap', '--output', file)).toMatchObject({ code: 0, err: '' });
      expect(readFileSync(file).equals(PICTURE)).toBe(true);
      const { out } = await run('call', 'snap', 'note=x', '--output', `${dir}/two.jpg`);
      expect(out.split('\n')).toEqual([
        'format  jpeg',
        `image   900 bytes in ${dir}/two.jpg`,
        expect.stringMatching(/^trace {3}[0-9a-f]{32}$/),
        '',
      ]);
      const whole = (await run('call', 'snap', '--output', `${dir}/three.jpg`, '--json')).json();
      expect(whole.result).toEqual({ format: 'jpeg', image: PICTURE.toString('base64') });
    }));

  test('makes no call where the file exists, the tool returns no bytes, or the answer is a job', () =>
    withDirectory(async (dir) => {
      const { run, taken } = makeHome();
      writeFileSync(`${dir}/kept`, 'kept');
      expect(await run('call', 'snap', '--output', `${dir}/kept`)).toMatchObject({ err: expect.stringContaining('exists already') });
      expect(readFileSync(`${dir}/kept`, 'utf8')).toBe('kept');
      expect(await run('call', 'dumb', '--output', `${dir}/new`)).toMatchObject({
        code: 2,
        err: expect.stringContaining('answers no bytes'),
      });
      expect((await run('call', 'snap', '--async', '--output', `${dir}/new`)).code).toBe(2);
      expect([taken(), existsSync(`${dir}/new`)]).toEqual([0, false]);
    }));

  test('fails where the answer has no bytes, or several', () =>
    withDirectory(async (dir) => {
      const { run } = makeHome();
      const none = await run('call', 'snap', 'small=false', '--output', `${dir}/new`);
      expect(none.err).toContain(`The answer has no bytes for ${dir}/new`);
      const several = await run('call', 'snap', 'small=true', '--output', `${dir}/new`);
      expect(several.err).toContain('The answer has bytes in image, thumb');
      expect([none.code === 0, several.code === 0, existsSync(`${dir}/new`)]).toEqual([false, false, false]);
    }));

  test('a file that cannot be written is an error', async () => {
    const { run } = makeHome();
    expect(await run('call', 'snap', '--output', '/no/such/folder/x')).toMatchObject({ err: expect.stringMatching(/^STORAGE_FAILED: /) });
  });
});

test('without --output people see the number of bytes, and short ones unchanged', async () => {
  const { run } = makeHome();
  const { out } = await run('call', 'snap', 'small=true');
  expect(out).toMatch(/^format +jpeg\nimage +900 bytes; --output FILE writes them into a file\nthumb +AAEC\ntrace +[0-9a-f]{32}\n$/);
  expect((await run('call', 'snap', 'small=true', '--json')).json().result.image).toHaveLength(1_200);
});

test('atmo jobs ID --output writes the bytes of a job', () =>
  withDirectory(async (dir) => {
    const { run } = makeHome();
    const { job_id: id } = (await run('call', 'snap', '--async', '--json')).json();
    await vi.waitFor(async () => expect((await run('jobs', id, '--json')).json().status).toBe('succeeded'));
    expect((await run('jobs', id)).out).toContain('900 bytes; --output FILE');
    const { code, out } = await run('jobs', id, '--output', `${dir}/door.jpg`);
    expect([code, out]).toEqual([0, expect.stringContaining(`900 bytes in ${dir}/door.jpg`)]);
    expect(readFileSync(`${dir}/door.jpg`).equals(PICTURE)).toBe(true);
    expect((await run('jobs', id, '--output', `${dir}/door.jpg`)).err).toContain('exists already');
    expect((await run('jobs', '--output', `${dir}/all`)).code).toBe(2);
  }));

test('a file fills a parameter by its name', () =>
  withDirectory(async (dir) => {
    const setup = makeHttpApi();
    const parameters = { type: 'object', properties: { image: BYTES, note: { type: 'string' } } };
    setup.addTool({ name: 'look', parameters, handler: async (params) => params });
    writeFileSync(`${dir}/photo.jpg`, PICTURE);
    const run = (...argv: string[]) => atmo(argv, { fetch: fetchFrom(setup.httpApi), stdin: 'from a pipe' });
    const { code, json } = await run('call', 'look', `image=@${dir}/photo.jpg`, 'note=@-', '--json');
    expect([code, json().result]).toEqual([0, { image: PICTURE.toString('base64'), note: 'from a pipe' }]);
    expect(await run('call', 'look', `image=@${dir}/gone.jpg`)).toMatchObject({
      code: 2,
      err: expect.stringContaining('gone.jpg cannot be read'),
    });
  }));
