import { AtmoError } from '../../core/errors.ts';
import { readSecret } from '../../core/settings/secret-source.ts';
import { orAborted } from '../../core/time/or-aborted.ts';
import { callEndpoint } from '../http/endpoint-call.ts';
import { mediaTypeOf } from '../models/media-type.ts';
import type { CameraConfig, CamerasConfig } from './cameras-config.ts';
import { deviceInput, ffmpegFrame, networkInput, pictureInput } from './ffmpeg.ts';
import type { Frame, FrameRequest, FrameSource } from './frame-source.ts';
import { pictureSize } from './picture-size.ts';
import { rpicamFrame } from './rpicam.ts';
import type { PictureRun } from './run-program.ts';

/** An answer may have 8 million characters, and base64 makes four of three bytes. */
const MAX_BYTES = 5_500_000;
/** What a camera in the network sends before it is made smaller. */
const MAX_SNAPSHOT_BYTES = 20_971_520;

interface Camera extends CameraConfig {
  readonly id: string;
  /** `user:password`. */
  readonly login?: string;
}

/** The cameras that the owner configured. Each takes one picture at a time: a device cannot be opened twice. */
export class Cameras implements FrameSource {
  readonly #cameras: ReadonlyMap<string, Camera>;
  readonly #env: NodeJS.ProcessEnv;
  readonly #last = new Map<string, Promise<unknown>>();

  /** CONFIG_INVALID for a camera that says no place or several, and for secrets that cannot be read. */
  constructor(config: CamerasConfig | undefined, env: NodeJS.ProcessEnv) {
    this.#env = env;
    this.#cameras = new Map(Object.entries(config ?? {}).map(([id, camera]) => [id, checked({ ...camera, id }, env)]));
  }

  ids(): readonly string[] {
    return [...this.#cameras.keys()];
  }

  async capture(id: string, request: FrameRequest, signal: AbortSignal): Promise<Frame> {
    const camera = this.#cameras.get(id);
    if (!camera) throw new AtmoError('NOT_FOUND', `There is no camera ${JSON.stringify(id)}; cameras are named in connectors.cameras`);
    const before = this.#last.get(id) ?? Promise.resolve();
    const mine = before.then(() => this.#take(camera, request, signal));
    // Whoever comes next waits for this one, however it ends.
    this.#last.set(
      id,
      mine.catch(() => {}),
    );
    return orAborted(mine, signal);
  }

  async #take(camera: Camera, request: FrameRequest, signal: AbortSignal): Promise<Frame> {
    try {
      return await this.#picture(camera, request, signal);
    } catch (error) {
      throw withoutLogin(error, camera);
    }
  }

  #picture(camera: Camera, request: FrameRequest, signal: AbortSignal): Promise<Frame> {
    const run = { env: this.#env, signal, maxBytes: MAX_BYTES };
    if (camera.rpicam !== undefined) return rpicamFrame(camera.rpicam, request, run);
    if (camera.device !== undefined) return ffmpegFrame(deviceInput(camera.device), request, run);
    const isPicture = camera.url?.startsWith('http') && !camera.stream;
    return isPicture ? this.#snapshot(camera, request, run) : ffmpegFrame(networkInput(withLogin(camera)), request, run);
  }

  /** What a camera gives is passed on as it is where it fits the request: a hub without ffmpeg can then still show it. */
  async #snapshot(camera: Camera, request: FrameRequest, run: PictureRun): Promise<Frame> {
    const body = await snapshotOf(camera, run.signal).catch((error: unknown) => {
      if (camera.login !== undefined && isUnauthorized(error)) return undefined;
      throw error;
    });
    // Digest access authentication (RFC 7616) is what ffmpeg knows and `fetch` does not.
    if (!body) return ffmpegFrame(networkInput(withLogin(camera)), request, run);
    const size = pictureSize(body);
    if (size && size.type === `image/${request.format}` && isWithin(size, request.within) && body.length <= MAX_BYTES) {
      return { bytes: body, format: request.format, width: size.width, height: size.height };
    }
    if (mediaTypeOf(body)?.kind !== 'image') {
      throw new AtmoError('SERVICE_REFUSED', `The camera ${camera.id} answered with something that is no picture; is its url right?`);
    }
    return ffmpegFrame(pictureInput(body), request, run);
  }
}

async function snapshotOf({ id, url = '', login }: Camera, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  const { body } = await callEndpoint({
    service: `The camera ${id}`,
    url: new URL(url),
    method: 'GET',
    headers: login === undefined ? {} : { authorization: `Basic ${Buffer.from(login).toString('base64')}` },
    isActing: false,
    signal,
    maxBytes: MAX_SNAPSHOT_BYTES,
  });
  return body;
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof AtmoError && error.code === 'SERVICE_REFUSED' && error.details.status === 401;
}

function checked({ credentials, ...camera }: Camera, env: NodeJS.ProcessEnv): Camera {
  const places = [camera.rpicam, camera.device, camera.url].filter((place) => place !== undefined);
  if (places.length !== 1) {
    throw new AtmoError('CONFIG_INVALID', `connectors.cameras.${camera.id} has to have exactly one of rpicam, device and url`);
  }
  return credentials === undefined ? camera : { ...camera, login: readSecret(credentials, env) };
}

function withLogin({ url = '', login }: Camera): string {
  if (login === undefined) return url;
  const [user = '', ...password] = login.split(':');
  return url.replace('://', `://${encodeURIComponent(user)}:${encodeURIComponent(password.join(':'))}@`);
}

function isWithin(size: { readonly width: number; readonly height: number }, within: FrameRequest['within']): boolean {
  const { width = size.width, height = size.height } = within ?? {};
  return size.width <= width && size.height <= height;
}

/** ffmpeg repeats the address that it cannot open. */
function withoutLogin(error: unknown, { login }: Camera): unknown {
  if (!(error instanceof AtmoError) || login === undefined) return error;
  const message = error.message.replaceAll(/\/\/[^\s/@]*@/g, '//').replaceAll(login, '[credentials]');
  return new AtmoError(error.code, message, error.details);
}
