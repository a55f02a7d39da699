import { OnOffPlugInUnitDevice } from '@matter/main/devices/on-off-plug-in-unit';
import type { DeviceType } from '../part.ts';
import { consumption } from './meter.ts';

export const METERED_PLUG: DeviceType = { parts: [{ id: 'plug', type: OnOffPlugInUnitDevice }, consumption] };
