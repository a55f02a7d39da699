import { Matter } from '@matter/model';
import type { SemanticTag } from '../../core/devices/device-model.ts';
import { deviceText } from './device-text.ts';
import type { EndpointSnapshot } from './node-snapshot.ts';

/** What distinguishes an endpoint from its likes, in words: `left`, `freezer`, or the device's own label; empty without tags. */
function tagLabel(tags: readonly SemanticTag[]): string {
  const words = tags.map((tag) => deviceText(tag.label) || standardWord(tag));
  return [...new Set(words.filter((word) => word !== ''))].join(' ');
}

/** All that may tell an endpoint from its likes, best first. */
export function labelsOf({ userLabel = '', fixedLabel = '', tags }: EndpointSnapshot): readonly string[] {
  return [userLabel, tagLabel(tags), fixedLabel].filter((label) => label !== '');
}

function standardWord({ namespace, tag }: SemanticTag): string {
  const tags = Matter.semanticNamespaces.find(({ id }) => id === namespace);
  const name = [...(tags?.children ?? [])].find(({ id }) => id === tag)?.name ?? '';
  return name.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}
