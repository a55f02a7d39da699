import { OnOffLightDevice } from '@matter/main/devices/on-off-light';
import type { DeviceType } from '../part.ts';

export const ON_OFF_LIGHT: DeviceType = { parts: [{ id: 'light', type: OnOffLightDevice }] };
