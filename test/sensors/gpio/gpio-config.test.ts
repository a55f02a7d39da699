import { expect, test } from 'vitest';
import { checkGpioConfig } from '../../../src/sensors/gpio/gpio-config.ts';
import { gpioConfig } from './gpio-fixture.ts';

test('a line with its number alone has careful defaults', () => {
  const config = gpioConfig('gpio: { inputs: { front_door: { line: GPIO17 } }, outputs: { pump: { line: 27 } } }');
  expect(config).toEqual({
    backend: 'chardev',
    inputs: { front_door: { line: 'GPIO17', activeLow: false, bias: 'as-is', debounceMs: 0, kind: 'input', unit: '' } },
    outputs: { pump: { line: 27, activeLow: false, risk: 'normal', safe: 'off' } },
  });
});

test.each([
  ['a key that only the other kind of line has', 'gpio:\n  inputs:\n    door: { line: 1, safe: off }', /line 3.*safe/],
  ['a name that no tool could have', 'gpio:\n  outputs:\n    "front door": { line: 1 }', /line 3|front door/],
  ['a line that is left out', 'gpio:\n  outputs:\n    pump: { active_low: true }', /has no "line"/],
  ['a debouncing longer than a minute', 'gpio:\n  inputs:\n    door:\n      line: 1\n      debounce_ms: 60001', /line 5/],
  ['a state that is none', 'gpio:\n  outputs:\n    pump:\n      line: 1\n      safe: maybe', /line 5/],
])('%s is refused with its line of the file', (_, yaml, message) => {
  expect(() => gpioConfig(yaml)).toThrow(message);
});

test.each([
  ['gpio: { inputs: { a: { line: 4 } }, outputs: { b: { line: 4 } } }', /sensors.gpio.outputs.b and sensors.gpio.inputs.a are both line 4/],
  ['gpio: { inputs: { a: { line: 4 } }, outputs: { a: { line: 5 } } }', /a is in inputs and in outputs/],
  ['gpio: { inputs: { meter: { line: 4, counts_per_unit: 1000, edge: both } } }', /count each pulse twice/],
])('lines that contradict each other are refused: %s', (yaml, message) => {
  expect(() => checkGpioConfig(gpioConfig(yaml))).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) }),
  );
});
