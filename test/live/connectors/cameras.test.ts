import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FOREIGN_HINT } from '../../../scripts/foreign-packages.ts';
import { Cameras, cameraFrameTool } from '../../../src/connectors/cameras/cameras.ts';
import type { FrameRequest } from '../../../src/connectors/cameras/frame-capture.ts';
import { pictureSize } from '../../../src/connectors/media-type.ts';
import { makePipeline, owner } from '../../calls/pipeline-fixture.ts';
import { foundFfmpeg, withFfmpeg } from './found-ffmpeg.ts';
import { httpCamera, RtspCamera, testPicture } from './network-camera.ts';

const ffmpeg = foundFfmpeg() ?? '';
const LOGIN = 'viewer:p:w/4711';
const JPEG: FrameRequest = { format: 'jpeg', quality: 85 };
const within = (width: number, height: number) => ({ within: { width, height } });

/** Command lines of all processes, as every user of the machine can read them. */
function commandLines(): string {
  const numbers = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return numbers.map((number) => read(`/proc/${number}/cmdline`)).join('\n');
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

describe.skipIf(ffmpeg === '')(`cameras (${FOREIGN_HINT})`, () => {
  let picture: Buffer;
  let http: Awaited<ReturnType<typeof httpCamera>>;
  let rtsp: RtspCamera;
  let cameras: Cameras;
  const capture = (id: string, request: Partial<FrameRequest> = {}, limitMs = 20_000) =>
    cameras.capture(id, { ...JPEG, ...request }, AbortSignal.timeout(limitMs));

  beforeAll(async () => {
    picture = await testPicture(ffmpeg, '1280x720');
    http = await httpCamera(picture, LOGIN);
    rtsp = new RtspCamera(LOGIN);
    await rtsp.start(ffmpeg);
    const login = { stream: false, credentials: 'env:CAMERA_LOGIN' };
    const settings = {
      door: { ...login, url: `${http.url}/picture.jpg` },
      yard: { ...login, url: `${http.url}/stream.mjpg`, stream: true },
      gate: { ...login, url: `rtsp://${rtsp.address}/main` },
      page: { ...login, url: `${http.url}/page` },
      careful: { ...login, url: `${http.url}/digest.jpg` },
      taken: { ...login, url: `${http.url}/playlist.m3u8`, stream: true },
      bomb: { ...login, url: `${http.url}/bomb.jpg` },
      silent: { ...login, url: `${http.url}/never` },
      stranger: { stream: false, url: `rtsp://${rtsp.address}/main` },
      locked: { stream: false, url: `${http.url}/picture.jpg` },
      gone: { ...login, url: 'rtsp://127.0.0.1:9/main' },
      desk: { stream: false, device: '/dev/video99' },
    };
    cameras = new Cameras(settings, withFfmpeg(ffmpeg, { CAMERA_LOGIN: LOGIN }));
  });
  afterAll(async () => {
    await http?.[Symbol.asyncDispose]();
    await rtsp?.[Symbol.asyncDispose]();
  });

  test('a picture over HTTP is passed on as it is where it fits', async () => {
    const frame = await capture('door');
    expect(frame).toMatchObject({ format: 'jpeg', width: 1_280, height: 720 });
    expect(Buffer.from(frame.bytes).equals(picture)).toBe(true);
  });

  test('a picture becomes smaller, another form, or raw, and keeps its shape', async () => {
    const small = await capture('door', within(640, 640));
    expect([small.width, small.height, pictureSize(small.bytes)]).toEqual([640, 360, { type: 'image/jpeg', width: 640, height: 360 }]);
    const png = await capture('door', { format: 'png', ...within(320, 320) });
    expect(pictureSize(png.bytes)).toEqual({ type: 'image/png', width: 320, height: 180 });
    const raw = await capture('door', { format: 'raw', ...within(160, 160) });
    expect([raw.width, raw.height, raw.bytes.length]).toEqual([160, 90, 160 * 90 * 3]);
    expect(new Set(raw.bytes).size).toBeGreaterThan(3);
    expect(await capture('door', within(4_000, 4_000))).toMatchObject({ width: 1_280, height: 720 });
  });

  test('one side alone is enough: the other follows the shape of the picture, at every kind of camera', async () => {
    for (const id of ['door', 'yard']) {
      expect(await capture(id, { within: { width: 640 } })).toMatchObject({ width: 640, height: 360 });
      expect(await capture(id, { within: { height: 180 } })).toMatchObject({ width: 320, height: 180 });
      expect(await capture(id, { within: { height: 4_000 } })).toMatchObject({ width: 1_280, height: 720 });
    }
    expect(await capture('gate', { format: 'png', within: { height: 120 } })).toMatchObject({ width: 160, height: 120 });
    const untouched = await capture('door', { within: { width: 1_280 } });
    expect(Buffer.from(untouched.bytes).equals(picture)).toBe(true);
  });

  test('quality costs bytes', async () => {
    const size = async (quality: number) => (await capture('door', { quality, ...within(640, 640) })).bytes.length;
    const [worst, best] = [await size(1), await size(100)];
    expect(best).toBeGreaterThan(worst * 2);
  });

  test('a stream over HTTP or RTSP gives one picture', async () => {
    expect(await capture('yard')).toMatchObject({ format: 'jpeg', width: 1_280, height: 720 });
    expect(await capture('gate', within(320, 320))).toMatchObject({ format: 'jpeg', width: 320, height: 240 });
    expect(rtsp.heard).toContainEqual(expect.stringMatching(/^PLAY rtsp:/));
  });

  test('nobody reads the login from the list of processes', async () => {
    const taking = capture('silent', {}, 1_500).catch(() => {});
    const streaming = Promise.all([capture('yard'), capture('gate')]);
    const seen: string[] = [];
    const looking = setInterval(() => seen.push(commandLines()), 40);
    await Promise.all([taking, streaming]);
    clearInterval(looking);
    const all = seen.join('\n');
    expect(all).toContain('pipe:0');
    expect(all).not.toMatch(/4711|rtsp:\/\/127/);
  });

  test('what goes wrong is told without the login', async () => {
    const failure = async (id: string) => (await capture(id).catch((error: unknown) => error)) as { code: string; message: string };
    expect(await failure('locked')).toMatchObject({ code: 'SERVICE_REFUSED', details: { status: 401 } });
    expect(await failure('page')).toMatchObject({ code: 'SERVICE_REFUSED', message: expect.stringContaining('no picture') });
    for (const id of ['stranger', 'gone', 'desk']) {
      const { code, message } = await failure(id);
      expect([id, code]).toEqual([id, 'SERVICE_UNAVAILABLE']);
      expect(message).not.toMatch(/4711|viewer/);
    }
  });

  test('a camera that wants a digest of the password gets one', async () => {
    expect(await capture('careful', within(320, 320))).toMatchObject({ format: 'jpeg', width: 320, height: 180 });
  });

  test('a camera that somebody took over reads no file of the hub and takes no memory from it', async () => {
    await expect(capture('taken')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    // Not its limit of time: the picture itself is refused.
    await expect(capture('bomb', within(640, 640))).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });

  test('a camera that does not answer is given up, and the next call gets its turn', async () => {
    await expect(capture('silent', {}, 400)).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(await capture('door')).toMatchObject({ width: 1_280 });
  });

  test('a picture that is too large for an answer is refused', async () => {
    const large = await httpCamera(await testPicture(ffmpeg, '2560x1440'), LOGIN);
    await using _ = large;
    const wide = new Cameras(
      { wide: { stream: false, url: `${large.url}/picture.jpg`, credentials: 'env:CAMERA_LOGIN' } },
      withFfmpeg(ffmpeg, { CAMERA_LOGIN: LOGIN }),
    );
    await expect(wide.capture('wide', { ...JPEG, format: 'raw' }, AbortSignal.timeout(20_000))).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    });
  });

  test('the tool answers base64 with its size and time', async () => {
    const { registry, pipeline, clock } = makePipeline({ capabilities: () => ['camera_access'] });
    expect(registry.register(cameraFrameTool(cameras))).toEqual([]);
    const taken = (resolution: object) =>
      pipeline.call({ principal: owner, tool: 'get_camera_frame', params: { camera_id: 'door', resolution } });
    const answer = await taken({ width: 320, height: 320 });
    expect(await taken({ width: 320 })).toMatchObject({ result: { width: 320, height: 180 } });
    expect(await taken({})).toMatchObject({ result: { width: 1_280, height: 720 } });
    expect(answer).toMatchObject({ result: { format: 'jpeg', width: 320, height: 180, timestamp: new Date(clock.now()).toISOString() } });
    const { image } = (answer as unknown as { result: { image: string } }).result;
    expect(pictureSize(Buffer.from(image, 'base64'))).toMatchObject({ width: 320, height: 180 });
  });
});

describe.skipIf(ffmpeg === '')(`the camera of the board, with a program in the place of rpicam-still (${FOREIGN_HINT})`, () => {
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rpicam-'));
    writeFileSync(join(folder, 'picture.jpg'), await testPicture(ffmpeg, '640x480'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const install = (name: string, script: string) => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  };
  const capture = (bounds: FrameRequest['within'] = { width: 640, height: 480 }) => {
    const cameras = new Cameras({ nest: { rpicam: 1, stream: false } }, { PATH: `${folder}:/usr/bin:/bin` });
    return cameras.capture('nest', { ...JPEG, within: bounds }, AbortSignal.timeout(20_000));
  };
  const asked = () => /--width (\d+) --height (\d+)/.exec(readFileSync(join(folder, 'arguments'), 'utf8'))?.slice(1);

  test('is asked for a picture of the size on standard output', async () => {
    install('libcamera-still', `echo "$@" > ${folder}/arguments; cat ${folder}/picture.jpg`);
    expect(await capture()).toMatchObject({ format: 'jpeg', width: 640, height: 480 });
    expect(readFileSync(join(folder, 'arguments'), 'utf8').trim()).toBe(
      '--camera 1 --nopreview --timeout 500 --width 640 --height 480 --encoding jpg --quality 85 --output -',
    );
  });

  test('is asked for the side that was not said by the shape of its sensor', async () => {
    const sensors = '0 : imx219 [3280x2464 10-bit RGGB] (/base/soc/i2c@1)\n1 : imx708 [4608x2592] (/base/soc/i2c@2)';
    const list = `case "$*" in --list-cameras) printf '%s\\n' 'Available cameras' '${sensors}'; exit;; esac`;
    install('libcamera-still', `${list}\necho "$@" > ${folder}/arguments; cat ${folder}/picture.jpg`);
    await capture({ width: 640 });
    expect(asked()).toEqual(['640', '360']);
    await capture({ height: 1_080 });
    expect(asked()).toEqual(['1920', '1080']);
    await capture({ height: 8_000 });
    expect(asked()).toEqual(['4608', '2592']);
    await capture({});
    expect(asked()).toEqual(['1280', '960']);
  });

  test('that does not tell the shape of its sensor wants both sides', async () => {
    install('libcamera-still', `echo "$@" > ${folder}/arguments; cat ${folder}/picture.jpg`);
    const message = expect.stringContaining('say both width and height');
    await expect(capture({ width: 640 })).rejects.toMatchObject({ code: 'NOT_SUPPORTED', message });
  });

  test('that has no camera says what the program says', async () => {
    install('rpicam-still', 'echo "ERROR: *** no cameras available ***" >&2; exit 255');
    await expect(capture()).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringContaining('no cameras available'),
    });
  });
});

test('a hub without the program says that it is missing', async () => {
  const cameras = new Cameras({ nest: { rpicam: 0, stream: false } }, { PATH: '/nonexistent' });
  await expect(cameras.capture('nest', JPEG, AbortSignal.timeout(5_000))).rejects.toMatchObject({
    code: 'NOT_SUPPORTED',
    details: { program: 'libcamera-still' },
  });
});
