import { describe, expect, test } from 'vitest';
import { filledCall, type TileCall } from '../../../src/web/pages/tile-control.ts';

const call = (traits: Partial<TileCall> = {}): TileCall => ({ tool: 'set_run_mode', params: {}, label: 'Let Robot clean', ...traits });
const schema = (field: object) => ({ type: 'object', properties: { value: { ...field } } });

describe('a parameter that the device decides', () => {
  test.each([
    [['idle', 'cleaning', 'mapping'], 'cleaning'],
    [['idle', 'auto clean', 'spot clean'], 'auto clean'],
    [['idle', 'vacuum and mop'], 'vacuum and mop'],
  ])('is the first choice with the most wanted word: %j', (modes, mode) => {
    const fill = { name: 'value', words: ['clean', 'vacuum'] };
    expect(filledCall(call({ fill }), schema({ enum: modes })).params).toEqual({ value: mode });
  });

  test('is the largest number that the device takes', () => {
    const fill = { name: 'value', words: 'maximum' } as const;
    expect(filledCall(call({ fill }), schema({ maximum: 16 })).params).toEqual({ value: 16 });
  });

  test('is told to be missing, with the action, when nothing fits', () => {
    const wanted = (words: readonly string[] | 'maximum') => () =>
      filledCall(call({ fill: { name: 'value', words } }), schema({ enum: ['idle'] }));
    expect(wanted(['clean'])).toThrow('Let Robot clean');
    expect(wanted('maximum')).toThrow('Let Robot clean');
  });

  test('does not change a call that has all its parameters', () => {
    const whole = call({ params: { value: 'idle' } });
    expect(filledCall(whole, schema({ enum: ['cleaning'] }))).toBe(whole);
  });
});
