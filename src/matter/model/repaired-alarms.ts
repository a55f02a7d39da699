import { AttributeModel, EventModel, Matter } from '@matter/model';

const ALARM_CLUSTERS = ['DishwasherAlarm', 'RefrigeratorAlarm', 'TemperatureAlarm'];

/*
 * The alarm clusters derive from an abstract one and only add the bits of its bitmap. matter.js 0.17.9 resolves the type
 * of an inherited attribute or event in the abstract cluster, where the bitmap is empty: every alarm read as off. Own copies
 * of the inherited elements find the bits.
 */
for (const name of ALARM_CLUSTERS) {
  const cluster = Matter.clusters(name);
  const base = Matter.clusters('AlarmBase');
  if (cluster === undefined || base === undefined || cluster.attributes('State')?.parent === cluster) continue;
  cluster.children.push(
    ...[...base.attributes]
      .filter(({ type }) => type === 'AlarmBitmap')
      .map((attribute) => new AttributeModel(attribute.toElement() as AttributeModel)),
    ...[...base.events].map((event) => new EventModel(event.toElement() as EventModel)),
  );
}
