import { describe, expect, test } from 'vitest';
import { ChatStream, chatAnswer } from '../../../src/connectors/models/chat-completion.ts';
import { namedModel } from './named-model.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const piece = (content: string) => event({ choices: [{ delta: { content } }] });
const end = event({ choices: [{ delta: {}, finish_reason: 'stop' }] });
const usage = event({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } });

describe('an answer that arrives word by word', () => {
  test('is put together wherever the bytes are cut, also within a letter', () => {
    const whole = bytes(`: comment\n\n${piece('Grüß ')}${piece('Gott 🏠')}${end}${usage}data: [DONE]\n\n`);
    for (let size = 1; size <= 40; size += 3) {
      const stream = new ChatStream(namedModel());
      let heard = '';
      for (let at = 0; at < whole.length; at += size) heard += stream.take(whole.subarray(at, at + size));
      expect(heard).toBe('Grüß Gott 🏠');
      expect(stream.answer()).toEqual({ text: heard, finishReason: 'stop', tokens: { prompt: 7, completion: 3 } });
    }
  });

  test('that breaks off is no answer', () => {
    const stream = new ChatStream(namedModel());
    stream.take(bytes(piece('Half')));
    expect(() => stream.answer()).toThrowError(/half a stream/);
  });

  test('with an error, without JSON or without an end of its line is refused', () => {
    const taking = (text: string) => () => new ChatStream(namedModel()).take(bytes(text));
    expect(taking(event({ error: { message: 'out of memory' } }))).toThrowError(/out of memory/);
    expect(taking('data: <html>\n')).toThrowError(/no JSON/);
    expect(taking('data: 7\n')).toThrowError(/no object/);
    expect(taking(`data: ${'x'.repeat(1_100_000)}`)).toThrowError(/without end/);
  });
});

describe('an answer at once', () => {
  test('has text, reason and counts where the service sends them', () => {
    const choice = { message: { content: 'Yes' }, finish_reason: 'length' };
    const counted = { choices: [choice], usage: { prompt_tokens: 2, completion_tokens: 1 } };
    expect(chatAnswer(namedModel(), counted)).toEqual({ text: 'Yes', finishReason: 'length', tokens: { prompt: 2, completion: 1 } });
    expect(chatAnswer(namedModel(), { choices: [{ message: { content: null } }] })).toEqual({ text: '' });
  });

  test('without a message is refused', () => {
    expect(() => chatAnswer(namedModel(), { choices: [] })).toThrowError(expect.objectContaining({ code: 'SERVICE_REFUSED' }));
  });
});
