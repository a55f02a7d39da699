/** The cluster of the Party light's maker, as the owner writes it down in `cluster-models/sparkle.json`. */
export const SPARKLE_MODEL = {
  name: 'Sparkle',
  id: '0xfff1fc01',
  attributes: [
    { name: 'SparkleCount', id: '0xfff10001', type: 'uint16', writable: true },
    { name: 'SparkleColor', id: '0xfff10002', type: 'string', max: 16 },
  ],
  commands: [{ name: 'AddSparkles', id: '0xfff10000', fields: [{ name: 'Amount', type: 'uint8', min: 1, max: 9 }] }],
};
