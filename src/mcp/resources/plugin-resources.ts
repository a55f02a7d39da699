import type { ToolCatalogue } from '../../http/tool-catalogue.ts';
import type { CompanionResource } from '../../tools/definition/tool-definition.ts';
import type { McpCaller, McpListener } from '../mcp-feature.ts';
import type { ResourceContents, ResourceEntry, ResourceSource, ResourceTemplate } from './resource-source.ts';

const VARIABLE = /\{(\w+)\}/g;

/** The resources of plug-in tools. A caller sees a resource only if it may call the resource's tool. */
export class PluginResources implements ResourceSource {
  readonly #catalogue: Pick<ToolCatalogue, 'all'>;

  constructor({ catalogue }: { readonly catalogue: Pick<ToolCatalogue, 'all'> }) {
    this.#catalogue = catalogue;
  }

  list(caller: McpCaller): readonly ResourceEntry[] {
    return this.#all(caller)
      .filter((resource) => !isTemplate(resource))
      .map(entryOf);
  }

  templates(caller: McpCaller): readonly ResourceTemplate[] {
    return this.#all(caller)
      .filter(isTemplate)
      .map((resource) => {
        const { uri: uriTemplate, ...entry } = entryOf(resource);
        return { uriTemplate, ...entry };
      });
  }

  async read(uri: string, caller: McpCaller): Promise<readonly ResourceContents[] | undefined> {
    for (const resource of this.#all(caller)) {
      const parts = templateValues(resource.uri, uri);
      if (parts) return [{ uri, mimeType: resource.mimeType, ...(await resource.read(parts)) }];
    }
    return undefined;
  }

  subscribable(listener: McpListener): (uri: string) => boolean {
    const resources = this.#all(listener);
    return (uri) => resources.some((resource) => templateValues(resource.uri, uri) !== undefined);
  }

  values(uriTemplate: string, variable: string, caller: McpCaller): readonly string[] | undefined {
    const isKnown = this.#all(caller).some(({ uri }) => uri === uriTemplate && uri.includes(`{${variable}}`));
    return isKnown ? [] : undefined;
  }

  #all({ principal }: McpListener): readonly CompanionResource[] {
    return this.#catalogue.all(principal).flatMap(({ companions }) => companions?.resources ?? []);
  }
}

function isTemplate({ uri }: CompanionResource): boolean {
  return uri.includes('{');
}

function entryOf({ uri, name, title, description, mimeType }: CompanionResource) {
  return { uri, name, title, description, mimeType };
}

/** Returns the values that a URI has for the variables of a template. Returns undefined if the URI does not match the template. */
function templateValues(template: string, uri: string): Readonly<Record<string, string>> | undefined {
  const names = [...template.matchAll(VARIABLE)].map(([, name = '']) => name);
  const fixed = template.split(VARIABLE).filter((_, index) => index % 2 === 0);
  const pattern = new RegExp(`^${fixed.map(escaped).join('([^/?#]+)')}$`);
  const values = pattern.exec(uri)?.slice(1);
  return values && Object.fromEntries(names.map((name, index) => [name, decoded(values[index] ?? '')]));
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
