import { expect, test } from 'vitest';
import { toolResult } from '../../../src/mcp/calls/tool-result.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';

const camera = makeTool({ returns: { type: 'object', 'x-image-member': 'image' } });
const base64 = (...bytes: readonly (string | number)[]) =>
  Buffer.concat(bytes.map((part) => (typeof part === 'number' ? Buffer.of(part) : Buffer.from(part)))).toString('base64');

test.each([
  ['image/jpeg', base64(0xff, 0xd8, 0xff, 0xe0, 'x')],
  ['image/png', base64(0x89, 'PNG\r\n', 0x1a, '\n', 0, 0)],
  ['image/gif', base64('GIF89a')],
  ['image/webp', base64('RIFF', 1, 2, 3, 255, 'WEBPVP8 ')],
])('a picture of the form %s is shown as one, and stays in the result for programs', (mimeType, image) => {
  const result = { image, width: 2 };
  expect(toolResult(camera, result)).toEqual({
    content: [
      { type: 'image', data: image, mimeType },
      { type: 'text', text: '{"width":2}' },
    ],
    structuredContent: result,
  });
});

test('what agents cannot look at, or tools that say nothing of pictures, answer text', () => {
  const raw = { image: base64(1, 2, 3), width: 1 };
  expect(toolResult(camera, raw)).toEqual({ content: [{ type: 'text', text: JSON.stringify(raw) }], structuredContent: raw });
  const jpeg = { image: base64(0xff, 0xd8, 0xff, 0xe0) };
  expect(toolResult(makeTool({}), jpeg)).toMatchObject({ content: [{ type: 'text' }] });
  expect(toolResult(camera, { image: 7 })).toMatchObject({ content: [{ type: 'text' }] });
});
