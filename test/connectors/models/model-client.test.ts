import { describe, expect, test } from 'vitest';
import { ModelRegistry } from '../../../src/connectors/models/model-client.ts';
import { MODELS_SECTION, type ModelsConfig } from '../../../src/connectors/models/models-config.ts';
import { parseCheckedYaml } from '../../../src/core/config/checked-yaml.ts';
import { camelKeys } from '../../../src/core/config/config-section.ts';

const FILE = `
endpoints:
  attic: { url: "http://192.168.1.9:11434/v1/" }
  cloud: { url: "https://api.example.org/v1", key: "env:MODEL_KEY" }
models:
  small: { endpoint: attic, model: "llama3.2:3b", tasks: [llm], options: { keep_alive: 10m } }
  big: { endpoint: cloud, model: big-1, tasks: [llm, vision] }
  words: { endpoint: attic, model: nomic, tasks: [embeddings] }
`;
const configOf = (text: string) => camelKeys(parseCheckedYaml(text, 'models.yaml', MODELS_SECTION), MODELS_SECTION) as ModelsConfig;
const bookOf = (text: string) => new ModelRegistry(configOf(text), { MODEL_KEY: 's3cret' });

describe('the models of the owner', () => {
  test('are picked by name, else the first that has the task', () => {
    const book = bookOf(FILE);
    expect(book.tasks()).toEqual(['llm', 'vision', 'embeddings']);
    expect(book.pick('llm', undefined)).toMatchObject({ name: 'small', model: 'llama3.2:3b', baseUrl: 'http://192.168.1.9:11434/v1' });
    expect(book.pick('llm', 'big')).toMatchObject({ name: 'big', key: 's3cret', baseUrl: 'https://api.example.org/v1' });
    expect(book.pick('vision', undefined).name).toBe('big');
    expect(book.named('words').tasks).toEqual(['embeddings']);
  });

  test('have a default for a task where the owner says so', () => {
    expect(bookOf(`${FILE}defaults: { llm: big }`).pick('llm', undefined).name).toBe('big');
  });

  test('keep the words of their options as they are', () => {
    expect(bookOf(FILE).named('small').options).toEqual({ keep_alive: '10m' });
  });

  test('are the only ones: another name, or one without the task, is refused with the existing names', () => {
    const refusal = (run: () => unknown) => expect(run).toThrowError(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
    refusal(() => bookOf(FILE).pick('llm', 'gpt-99'));
    refusal(() => bookOf(FILE).pick('vision', 'small'));
    expect(() => bookOf(FILE).named('nothing')).toThrowError(/there is small, big, words/);
  });

  test('need endpoints that are there, defaults that can, and secrets', () => {
    expect(() => bookOf(FILE.replace('endpoint: attic', 'endpoint: cellar'))).toThrowError(/small names the endpoint cellar/);
    expect(() => bookOf(`${FILE}defaults: { vision: small }`)).toThrowError(/no model with the task vision/);
    expect(() => new ModelRegistry(configOf(FILE), {})).toThrowError(/env:MODEL_KEY holds no secret/);
  });

  test('cannot have their password in an address', () => {
    expect(() => configOf(FILE.replace('http://192', 'http://me:pw@192'))).toThrowError(/endpoints.attic.url/);
  });
});
