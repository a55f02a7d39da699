import { expect, test } from 'vitest';
import { Cameras } from '../../../src/connectors/cameras/cameras.ts';
import type { CameraConfig } from '../../../src/connectors/cameras/cameras-config.ts';

const opened = (camera: Partial<CameraConfig>, env: NodeJS.ProcessEnv = {}) => new Cameras({ hall: { stream: false, ...camera } }, env);

test('a camera is in exactly one place', () => {
  expect(opened({ rpicam: 0 }).ids()).toEqual(['hall']);
  expect(() => opened({})).toThrowError(/connectors.cameras.hall has to have exactly one/);
  expect(() => opened({ device: '/dev/video0', url: 'rtsp://cam/1' })).toThrowError(/exactly one/);
});

test('a camera whose login is not to be found stops the start', () => {
  const camera = { url: 'rtsp://cam/1', credentials: 'env:CAMERA_LOGIN' };
  expect(() => opened(camera)).toThrowError(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  expect(opened(camera, { CAMERA_LOGIN: 'me:pw' }).ids()).toEqual(['hall']);
});

test('an unknown camera takes no picture', async () => {
  const request = { format: 'jpeg', quality: 85 } as const;
  await expect(opened({ rpicam: 0 }).capture('bath', request, new AbortController().signal)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
