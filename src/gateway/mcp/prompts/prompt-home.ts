import { resolveArea } from '../../../tools/places/resolve-area.ts';
import type { CallerSight } from '../../devices/caller-sight.ts';
import type { McpCaller } from '../mcp-feature.ts';
import type { HomeResources } from '../resources/resource-home.ts';
import { CHORES, type Chore } from './prompt-chores.ts';
import type { PromptArguments, PromptEntry, PromptMessage, PromptSource } from './prompt-source.ts';

const TIMES = ['24h', '7d', '30d'];

interface HomePromptParts {
  readonly sight: CallerSight;
  readonly resources: Pick<HomeResources, 'areas' | 'devices'>;
}

/** The chores of the home as prompts. */
export class HomePrompts implements PromptSource {
  readonly #sight: CallerSight;
  readonly #resources: HomePromptParts['resources'];

  constructor({ sight, resources }: HomePromptParts) {
    this.#sight = sight;
    this.#resources = resources;
  }

  list(): readonly PromptEntry[] {
    return CHORES.map(({ name, title, description, arguments: known }) => ({
      name,
      title,
      description,
      arguments: known.map(({ of: _of, ...argument }) => argument),
    }));
  }

  async messages(name: string, given: PromptArguments, caller: McpCaller): Promise<readonly PromptMessage[]> {
    const chore = CHORES.find((known) => known.name === name);
    if (!chore) return [];
    const checked = chore.arguments.map(
      (argument) => [argument.name, this.#checked(argument, given[argument.name] ?? '', caller)] as const,
    );
    return [{ role: 'user', content: { type: 'text', text: chore.text(Object.fromEntries(checked)) } }];
  }

  values(name: string, argument: string, caller: McpCaller): readonly string[] | undefined {
    const kind = CHORES.find((known) => known.name === name)?.arguments.find((known) => known.name === argument)?.of;
    const { names } = this.#sight;
    if (kind === 'area') return this.#resources.areas(caller).flatMap((area) => [area, ...names.areaNames(area).aliases]);
    if (kind === 'device') return this.#resources.devices(caller).flatMap(({ id, name }) => [name, id, ...names.deviceAliases(id)]);
    if (kind === 'time') return TIMES;
    return kind && [];
  }

  /** Quoted, so that no name can be taken for an instruction of ours. Areas and devices have to be there. */
  #checked({ of: kind }: Chore['arguments'][number], text: string, caller: McpCaller): string {
    if (text === '') return '';
    if (kind === 'device') return JSON.stringify(this.#sight.device(caller.principal, text).id);
    if (kind === 'area') return JSON.stringify(resolveArea(text, this.#resources.areas(caller), this.#sight.names));
    return JSON.stringify(text.slice(0, 200));
  }
}
