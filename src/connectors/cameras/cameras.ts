import { isoTime, orAborted } from '../../core/clock.ts';
import { readSecret } from '../../core/config/config-section.ts';
import { AtmoError } from '../../core/errors.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import { IMAGE_MEMBER, type RegisteredTool, unconfigured } from '../../tools/definition/tool-definition.ts';
import type { Capability } from '../../tools/registry/capability-catalogue.ts';
import { permittedNames, resultSchema } from '../connector.ts';
import { callEndpoint } from '../http-client/endpoint-call.ts';
import { mediaTypeOf, pictureSize } from '../media-type.ts';
import type { CameraConfig, CamerasConfig } from './cameras-config.ts';
import { FRAME_FORMATS, type Frame, type FrameRequest, ffmpegFrame, networkInput, type PictureRun, rpicamFrame } from './frame-capture.ts';

/** Maximum size of a returned picture in bytes. In base64 this is 7.3 million characters; a result may have 8 million. */
const MAX_BYTES = 5_500_000;
/** Maximum size in bytes of a picture that a network camera sends. The hub may scale the picture down afterwards. */
const MAX_SNAPSHOT_BYTES = 20_971_520;

interface Camera extends CameraConfig {
  readonly id: string;
  /** Login of the camera, as `user:password`. */
  readonly login?: string;
}

/** The configured cameras. Each camera takes one picture at a time, since a device cannot be opened twice. */
export class Cameras {
  readonly #cameras: ReadonlyMap<string, Camera>;
  readonly #env: NodeJS.ProcessEnv;
  readonly #last = new Map<string, Promise<unknown>>();

  /** Throws CONFIG_INVALID if a camera does not have exactly one of `rpicam`, `device` and `url`, or if its credentials cannot be read. */
  constructor(config: CamerasConfig | undefined, env: NodeJS.ProcessEnv) {
    this.#env = env;
    this.#cameras = new Map(Object.entries(config ?? {}).map(([id, camera]) => [id, withCredentials({ ...camera, id }, env)]));
  }

  ids(): readonly string[] {
    return [...this.#cameras.keys()];
  }

  /**
   * Takes a picture now. Rejects with NOT_FOUND (no such camera), SERVICE_UNAVAILABLE (the camera cannot be reached, or the program for it
   * fails), SERVICE_REFUSED (the camera returns an error status, or data that is no picture), PAYLOAD_TOO_LARGE (the picture is too large),
   * or NOT_SUPPORTED (the program is not installed).
   */
  async capture(id: string, request: FrameRequest, signal: AbortSignal): Promise<Frame> {
    const camera = this.#cameras.get(id);
    if (!camera) throw new AtmoError('NOT_FOUND', `There is no camera ${JSON.stringify(id)}; cameras are named in connectors.cameras`);
    const before = this.#last.get(id) ?? Promise.resolve();
    const run = { env: this.#env, signal, maxBytes: MAX_BYTES };
    const frame = before
      .then(() => takePicture(camera, request, run))
      .catch((error: unknown) => Promise.reject(withoutLogin(error, camera)));
    const ended = frame.catch(() => {});
    // The camera's next request waits until this request has ended, even if it fails.
    this.#last.set(id, ended);
    return orAborted(frame, signal);
  }
}

async function takePicture(camera: Camera, request: FrameRequest, run: PictureRun): Promise<Frame> {
  if (camera.rpicam !== undefined) return rpicamFrame(camera.rpicam, request, run);
  if (camera.device !== undefined) return ffmpegFrame({ args: ['-f', 'v4l2', '-i', camera.device] }, request, run);
  const isPicture = camera.url?.startsWith('http') && !camera.stream;
  return isPicture ? takeSnapshot(camera, request, run) : ffmpegFrame(networkInput(withLogin(camera)), request, run);
}

/** Downloads a picture. A picture that matches the request is returned unchanged and needs no ffmpeg. ffmpeg converts any other picture. */
async function takeSnapshot(camera: Camera, request: FrameRequest, run: PictureRun): Promise<Frame> {
  const body = await snapshotOf(camera, run.signal).catch((error: unknown) => {
    if (camera.login !== undefined && isUnauthorized(error)) return undefined;
    throw error;
  });
  // The camera refused basic authentication. ffmpeg can also use digest authentication (RFC 7616); the hub's HTTP client cannot.
  if (!body) return ffmpegFrame(networkInput(withLogin(camera)), request, run);
  const size = pictureSize(body);
  const { width = Infinity, height = Infinity } = request.within ?? {};
  if (size?.type === `image/${request.format}` && size.width <= width && size.height <= height && body.length <= MAX_BYTES) {
    return { bytes: body, format: request.format, width: size.width, height: size.height };
  }
  if (mediaTypeOf(body)?.kind !== 'image') {
    throw new AtmoError('SERVICE_REFUSED', `The camera ${camera.id} answered with something that is no picture; is its url right?`);
  }
  return ffmpegFrame({ args: ['-protocol_whitelist', 'pipe,fd', '-f', 'image2pipe', '-i', 'pipe:0'], input: body }, request, run);
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

function withCredentials({ credentials, ...camera }: Camera, env: NodeJS.ProcessEnv): Camera {
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

/** Returns the error without the camera's login. ffmpeg's error messages contain the URL, and the URL contains the login. */
function withoutLogin(error: unknown, { login }: Camera): unknown {
  if (!(error instanceof AtmoError) || login === undefined) return error;
  const message = error.message.replaceAll(/\/\/[^\s/@]*@/g, '//').replaceAll(login, '[credentials]');
  return new AtmoError(error.code, message, error.details);
}

const LIMIT_MS = 30_000;
const side = (description: string) => p.integer({ description, minimum: 16, maximum: 8_192, unit: 'px' });

/** The capability that a hub announces if it has cameras. */
export const CAMERA_ACCESS: Capability = { type: 'camera_access', description: () => 'Cameras of this home' };

const FRAME = resultSchema(['image', 'format', 'width', 'height', 'timestamp'], {
  image: { type: 'string', contentEncoding: 'base64' },
  format: { enum: FRAME_FORMATS },
  width: { type: 'integer', 'x-unit': 'px' },
  height: { type: 'integer', 'x-unit': 'px' },
  timestamp: { type: 'string', format: 'date-time' },
});

/** Returns the tool `get_camera_frame`. Without cameras, the tool is listed as not configured. */
export function cameraFrameTool(cameras: Cameras): RegisteredTool {
  const tool = defineTool(
    {
      name: 'get_camera_frame',
      title: 'Take a picture',
      description:
        'Takes a picture with a camera of the house now and answers it in base64. Use it to show or keep the picture; to know what is ' +
        'to be seen, ask look_through_camera instead.',
      category: 'sensing',
      capabilities: ['camera_access'],
      permissions: ['camera:capture:{camera_id}'],
      hasSideEffects: false,
      timeoutMs: LIMIT_MS,
      retries: 0,
      preferLocal: true,
      hopLimit: 1,
      tags: ['camera', 'image', 'picture'],
      audit: { logResult: false },
      examples: cameras
        .ids()
        .slice(0, 1)
        .map((id) => ({ description: 'A small picture', params: { camera_id: id, resolution: { width: 640, height: 480 } } })),
      parameters: {
        camera_id: cameraParameter,
        resolution: p
          .object(
            { width: side('Greatest width').optional(), height: side('Greatest height').optional() },
            {
              description:
                'The picture fits into it and keeps its shape; with one side alone the other follows; as the camera gives it when absent',
            },
          )
          .optional(),
        format: p.enum(FRAME_FORMATS, { description: 'raw is RGB, three bytes for each pixel, row by row', default: 'jpeg' }),
        quality: p.integer({ description: 'Quality of JPEG; 100 is best', minimum: 1, maximum: 100, default: 85 }),
      },
      returns: { ...FRAME, [IMAGE_MEMBER]: 'image' },
    },
    async ({ camera_id: id, resolution, format, quality }, { signal, clock, permissions }) => {
      requireCamera(cameras, id, permissions);
      const atMs = clock.now();
      const frame = await cameras.capture(id, { format, quality, ...(resolution && { within: resolution }) }, signal);
      const { width, height, bytes } = frame;
      return { image: Buffer.from(bytes).toString('base64'), format, width, height, timestamp: isoTime(atMs) };
    },
  );
  return cameras.ids().length > 0 ? tool : unconfigured(tool, 'set connectors.cameras in the configuration');
}

/** Parameter `camera_id` of all tools that use a camera. */
export const cameraParameter = p.string({
  description: 'Id of the camera; a wrong one is answered with those that there are',
  pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$',
});

/** Throws NOT_FOUND if there is no camera with this id. The error lists the cameras that `grants` permit. */
export function requireCamera(cameras: Cameras, id: string, grants: readonly string[]): void {
  if (cameras.ids().includes(id)) return;
  const candidates = permittedNames(grants, 'camera:capture', cameras.ids());
  const known = candidates.length === 0 ? '' : `; there is ${candidates.join(', ')}`;
  throw new AtmoError('NOT_FOUND', `There is no camera ${id} at this hub${known}`, { candidates });
}
