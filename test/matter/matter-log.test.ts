import { Logger as MatterLogger } from '@matter/main';
import { describe, expect, test } from 'vitest';
import { createLogger } from '../../src/core/logger.ts';
import { routeMatterLog } from '../../src/matter/matter-node.ts';

describe('the log of matter.js', () => {
  test('reaches the hub from warnings up, as one line of fields', () => {
    const lines: string[] = [];
    routeMatterLog(createLogger('debug', (line) => lines.push(line)));
    const logger = MatterLogger.get('Test');
    logger.info('an identity protection key');
    logger.notice('a dataset');
    logger.warn('slow', { after: 3 });
    logger.error('lost\nand gone');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'warn', event: 'matter.message_logged', facility: 'Test', text: expect.stringContaining('slow') },
      { level: 'error', event: 'matter.message_logged', facility: 'Test', text: 'lost and gone' },
    ]);
  });

  test('loses codes and long hexadecimal texts, and what is too long', () => {
    const lines: string[] = [];
    routeMatterLog(createLogger('debug', (line) => lines.push(line)));
    MatterLogger.get('Test').error(`code MT:Y.K90AFN00KA0648G00 key ${'0123456789abcdef'.repeat(4)} ${'long '.repeat(200)}`);
    expect(lines.join()).not.toMatch(/Y\.K90AFN|0123456789abcdef/);
    expect(JSON.parse(lines[0] ?? '{}').text).toHaveLength(500);
  });

  test('sends no warning to a hub that logs errors alone', () => {
    const lines: string[] = [];
    routeMatterLog(createLogger('error', (line) => lines.push(line)));
    MatterLogger.get('Test').warn('slow');
    expect(lines).toEqual([]);
  });
});
