import type { AttributeDescription, ClusterDescription, CommandDescription, EventDescription } from '../../core/devices/device-model.ts';
import type { AttributeShape, ClusterShape, CommandShape, EventShape } from './cluster-shape.ts';
import { concentrationUnit } from './units.ts';
import { type LiveState, schemaOf } from './value-schema.ts';
import type { ValueShape } from './value-shape.ts';

// Schemas that no live attribute can change are made once per shape, not once per device.
const fixedAttributes = new WeakMap<AttributeShape, AttributeDescription>();
const fixedCommands = new WeakMap<CommandShape, CommandDescription>();
const fixedEvents = new WeakMap<EventShape, EventDescription>();

/** What a cluster offers, with bounds narrowed by what the device's attributes say now (camelCase names). */
export function describeCluster(cluster: ClusterShape, state: LiveState = {}): ClusterDescription {
  return {
    id: cluster.id,
    name: cluster.name,
    ...(cluster.description !== undefined && { description: cluster.description }),
    revision: cluster.revision,
    features: cluster.features,
    attributes: [...cluster.attributes.values()].map((attribute) => describeAttribute(attribute, cluster, state)),
    commands: [...cluster.commands.values()].map((command) => describeCommand(command, state)),
    events: [...cluster.events.values()].map((event) => remembered(fixedEvents, event, () => eventDescription(event))),
  };
}

function describeAttribute(attribute: AttributeShape, cluster: ClusterShape, state: LiveState): AttributeDescription {
  const unit = concentrationUnit(cluster.name, attribute.name, state.measurementUnit);
  if (unit !== undefined) return attributeDescription({ ...attribute, shape: { ...attribute.shape, ...unit } }, state);
  if (isLive(attribute.shape)) return attributeDescription(attribute, state);
  return remembered(fixedAttributes, attribute, () => attributeDescription(attribute, {}));
}

function attributeDescription(attribute: AttributeShape, state: LiveState): AttributeDescription {
  const { unit, scale } = attribute.shape;
  return {
    id: attribute.id,
    name: attribute.name,
    ...attribute.facts,
    schema: schemaOf(attribute.shape, state),
    ...(unit !== undefined && { unit }),
    ...(scale !== undefined && { scale }),
  };
}

function describeCommand(command: CommandShape, state: LiveState): CommandDescription {
  if (command.request.fields.some(({ shape }) => isLive(shape))) return commandDescription(command, state);
  return remembered(fixedCommands, command, () => commandDescription(command, {}));
}

function commandDescription(command: CommandShape, state: LiveState): CommandDescription {
  return {
    id: command.id,
    name: command.name,
    ...command.facts,
    parameters: schemaOf(command.request, state),
    ...(command.response !== undefined && { returns: schemaOf(command.response) }),
  };
}

function eventDescription(event: EventShape): EventDescription {
  return { id: event.id, name: event.name, schema: schemaOf(event.shape), priority: event.priority };
}

function isLive(shape: ValueShape): boolean {
  return shape.kind === 'integer' && (shape.liveMin !== undefined || shape.liveMax !== undefined);
}

function remembered<Key extends object, Value>(memory: WeakMap<Key, Value>, key: Key, make: () => Value): Value {
  const known = memory.get(key);
  if (known !== undefined) return known;
  const made = make();
  memory.set(key, made);
  return made;
}
