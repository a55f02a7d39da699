import { AtmoError } from '../../core/errors.ts';
import { readSecret } from '../../core/settings/secret-source.ts';
import { MODEL_TASKS, type ModelConfig, type ModelsConfig, type ModelTask } from './models-config.ts';

/** A model with all that it takes to ask it. */
export interface NamedModel extends Omit<ModelConfig, 'endpoint'> {
  /** What the owner calls it. */
  readonly name: string;
  /** For messages. */
  readonly service: string;
  /** Base address without a slash at its end. */
  readonly baseUrl: string;
  readonly key?: string;
}

/** The models that the owner configured. */
export class ModelBook {
  readonly #models: ReadonlyMap<string, NamedModel>;
  readonly #defaults: ModelsConfig['defaults'];

  /** CONFIG_INVALID for a model whose endpoint is not there, a default that cannot do its task, and secrets that cannot be read. */
  constructor(config: ModelsConfig | undefined, env: NodeJS.ProcessEnv) {
    const endpoints = Object.entries(config?.endpoints ?? {}).map(([name, { url, key }]) => {
      const secret = key === undefined ? {} : { key: readSecret(key, env) };
      return [name, { service: `The model endpoint ${name}`, baseUrl: url.replace(/\/+$/, ''), ...secret }] as const;
    });
    const byName = new Map(endpoints);
    this.#models = new Map(
      Object.entries(config?.models ?? {}).map(([name, { endpoint, ...model }]) => {
        const found = byName.get(endpoint);
        if (!found) throw invalid(`connectors.models.models.${name} names the endpoint ${endpoint}, which is not among the endpoints`);
        return [name, { ...model, ...found, name }];
      }),
    );
    this.#defaults = config?.defaults ?? {};
    this.#checkDefaults();
  }

  /** The tasks that at least one model has. */
  tasks(): readonly ModelTask[] {
    return MODEL_TASKS.filter((task) => this.#having(task).length > 0);
  }

  /** Names of the models that have a task. */
  names(task: ModelTask): readonly string[] {
    return this.#having(task).map(({ name }) => name);
  }

  /** The model of a name, else the default one of the task. VALIDATION_ERROR names those that can do the task. */
  pick(task: ModelTask, name: string | undefined): NamedModel {
    const able = this.#having(task);
    const wanted = name ?? this.#defaults[task] ?? able[0]?.name;
    const found = able.find((model) => model.name === wanted);
    if (found) return found;
    const names = able.map((model) => model.name);
    throw new AtmoError('VALIDATION_ERROR', `No model ${JSON.stringify(wanted)} for ${task} is configured; there is ${names.join(', ')}`, {
      candidates: names,
    });
  }

  /** The model of a name, whatever its tasks are. VALIDATION_ERROR names all. */
  named(name: string): NamedModel {
    const found = this.#models.get(name);
    if (found) return found;
    const names = [...this.#models.keys()];
    throw new AtmoError('VALIDATION_ERROR', `No model ${JSON.stringify(name)} is configured; there is ${names.join(', ')}`, {
      candidates: names,
    });
  }

  #having(task: ModelTask): readonly NamedModel[] {
    return [...this.#models.values()].filter(({ tasks }) => tasks.includes(task));
  }

  #checkDefaults(): void {
    for (const [task, name] of Object.entries(this.#defaults)) {
      if (this.#having(task as ModelTask).some((model) => model.name === name)) continue;
      throw invalid(`connectors.models.defaults.${task} names ${name}, which is no model with the task ${task}`);
    }
  }
}

function invalid(message: string): AtmoError {
  return new AtmoError('CONFIG_INVALID', message);
}
