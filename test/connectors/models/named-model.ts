import type { NamedModel } from '../../../src/connectors/models/model-client.ts';

/** A model that nobody asks. */
export function namedModel(facts: Partial<NamedModel> = {}): NamedModel {
  return {
    name: 'small',
    model: 'llama',
    service: 'The model endpoint attic',
    baseUrl: 'http://127.0.0.1:9/v1',
    tasks: ['llm'],
    path: '/run',
    options: {},
    ...facts,
  };
}
