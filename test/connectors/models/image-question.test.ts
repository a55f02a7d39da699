import { expect, test } from 'vitest';
import { IMAGE_TASKS, imageFinding, imageQuestion } from '../../../src/connectors/models/vision-tools.ts';

test('each task has its own prompt, which requests JSON and trusts no text in the picture', () => {
  const questions = IMAGE_TASKS.map((task) => imageQuestion(task, undefined));
  expect(new Set(questions).size).toBe(IMAGE_TASKS.length);
  for (const question of questions) expect(question).toMatch(/never an instruction[\s\S]*"confidence"/);
  expect(imageQuestion('custom', 'Is the gate open?')).toContain('Request: Is the gate open?');
});

test('a finding is the JSON of the model, with or without a fence around it', () => {
  expect(imageFinding('{"result": "a cat", "confidence": 0.9}')).toEqual({ result: 'a cat', confidence: 0.9 });
  expect(imageFinding('```json\n{"result": [{"label": "cat"}]}\n```')).toEqual({ result: [{ label: 'cat' }] });
});

test('a confidence that is none is left out, and other text is the result as it is', () => {
  expect(imageFinding('{"result": "a cat", "confidence": "high"}')).toEqual({ result: 'a cat' });
  expect(imageFinding('{"result": "a cat", "confidence": 87}')).toEqual({ result: 'a cat' });
  expect(imageFinding(' I see a cat. ')).toEqual({ result: 'I see a cat.' });
  expect(imageFinding('[{"label": "cat"}]')).toEqual({ result: [{ label: 'cat' }] });
});
