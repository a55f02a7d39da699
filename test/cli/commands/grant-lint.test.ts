import { describe, expect, test } from 'vitest';
import { lintGrants } from '../../../src/cli/commands/tokens.ts';

const KNOWN = {
  tools: [
    { id: 'matter:dim', requires: { permissions: ['device:control:{device_id}'] } },
    { id: 'core:query_sensor', requires: { permissions: ['sensor:read:{sensor_id}'] } },
  ],
  devices: [{ id: 'hall-lamp', area: 'Front hall' }, { id: 'attic' }],
};

describe('a grant', () => {
  test.each([
    ['device:contrl:hall-lamp', 'device:contrl:hall-lamp: no tool requires device:contrl; did you mean device:control?'],
    ['sensors:read:*', 'sensors:read:*: no tool requires sensors:read; did you mean sensor:read?'],
    ['device:control', 'device:control: tools require it of one thing; did you mean device:control:*?'],
    ['device:control:hal-lamp', 'device:control:hal-lamp: no device hal-lamp is known here; did you mean hall-lamp?'],
    ['device:control:fountain', 'device:control:fountain: no device fountain is known here'],
    ['device:control:@area/front-hal', 'device:control:@area/front-hal: no area front-hal is known here; did you mean front-hall?'],
  ])('%s looks misspelled', (grant, sentence) => {
    expect(lintGrants([grant], KNOWN)).toEqual([sentence]);
  });

  test.each([
    ['*'],
    ['device:*'],
    ['device:control:*'],
    ['device:control:hall-lamp'],
    ['device:control:@area/front-hall'],
    ['device:control:@type/light'],
    ['sensor:read:attic/*'],
    ['event:subscribe'],
    ['no grant'],
  ])('%s is left alone', (grant) => {
    expect(lintGrants([grant], KNOWN)).toEqual([]);
  });
});
