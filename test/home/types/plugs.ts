import { DimmablePlugInUnitDevice } from '@matter/main/devices/dimmable-plug-in-unit';
import { OnOffPlugInUnitDevice } from '@matter/main/devices/on-off-plug-in-unit';
import type { DeviceType } from '../part.ts';
import { LEVEL } from './level.ts';

export const ON_OFF_PLUG: DeviceType = { parts: [{ id: 'plug', type: OnOffPlugInUnitDevice }] };

export const DIMMABLE_PLUG: DeviceType = { parts: [{ id: 'plug', type: DimmablePlugInUnitDevice, state: { levelControl: LEVEL } }] };
