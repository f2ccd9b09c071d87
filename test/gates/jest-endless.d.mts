export default class EndlessFiles {
  constructor(config?: object, options?: { mostMs?: number; giveUp?: () => void });
  onTestFileStart(test: { path: string }): void;
  onTestFileResult(test: { path: string }): void;
  onRunComplete(): void;
}
