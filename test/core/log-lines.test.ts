import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLogger, LogBuffer } from '../../src/core/logger.ts';

function room() {
  const written: string[] = [];
  const lines = new LogBuffer((text) => written.push(text));
  return { written, lines };
}

test('quiet lines wait for the end of the turn and go out in one piece', async () => {
  const { written, lines } = room();
  lines.add('a\n', 'info');
  lines.add('b\n', 'debug');
  expect(written).toEqual([]);
  await setImmediate();
  expect(written).toEqual(['a\nb\n']);
  await setImmediate();
  expect(written).toEqual(['a\nb\n']);
});

test.each(['warn', 'error'] as const)('a line of level %s goes out at once, behind those before it', async (level) => {
  const { written, lines } = room();
  lines.add('a\n', 'info');
  lines.add('b\n', level);
  expect(written).toEqual(['a\nb\n']);
  lines.add('c\n', 'info');
  await setImmediate();
  expect(written).toEqual(['a\nb\n', 'c\n']);
});

test('what waits when the process ends is written then', () => {
  const { written, lines } = room();
  lines.add('a\n', 'info');
  lines.flush();
  lines.flush();
  expect(written).toEqual(['a\n']);
});

test('a logger says how urgent each line is', () => {
  const { written, lines } = room();
  const logger = createLogger('info', (line, level) => lines.add(line, level));
  logger.info('hub.started');
  expect(written).toEqual([]);
  logger.child({ room: 'attic' }).error('hub.stopped');
  expect(written.join('').split('\n').filter(Boolean)).toHaveLength(2);
});
