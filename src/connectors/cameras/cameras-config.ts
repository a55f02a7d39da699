import { optionalSection, SECRET_SOURCE, type Settings } from '../../core/config/config-section.ts';

const CAMERA = optionalSection({
  rpicam: { type: 'integer', minimum: 0, maximum: 7, description: 'Number of a camera at the board (rpicam-still --list-cameras)' },
  device: { type: 'string', pattern: '^/dev/[A-Za-z0-9][A-Za-z0-9/_.:-]*$', description: 'A camera of the kernel (V4L2)' },
  url: {
    type: 'string',
    format: 'uri',
    pattern: '^(https?|rtsps?)://[^\\s@]+$',
    description: 'A camera in the network: a stream (rtsp) or a picture (http)',
  },
  stream: { type: 'boolean', default: false, description: 'What is at an http address goes on for ever, as MJPEG does' },
  credentials: { ...SECRET_SOURCE, description: 'user:password for the url' },
});

/** JSON Schema of `connectors.cameras`. The owner chooses the keys; a key is the id of a camera. */
export const CAMERAS_SECTION = {
  type: 'object',
  minProperties: 1,
  maxProperties: 64,
  propertyNames: { pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$' },
  additionalProperties: CAMERA,
} as const;

/** Settings of all cameras, by the id of the camera. */
export type CamerasConfig = Settings<typeof CAMERAS_SECTION>;

/** Settings of one camera. Exactly one of `rpicam`, `device` and `url` must be set. */
export type CameraConfig = Settings<typeof CAMERA>;
