import type { BusinessStep } from './business-step.js';

/** An event of EPCIS 2.0 in JSON-LD, as far as documents of the registry tell one. */
export interface EpcisEvent {
  type: 'ObjectEvent' | 'AggregationEvent';
  eventID?: string;
  eventTime: string;
  eventTimeZoneOffset: string;
  errorDeclaration?: {
    declarationTime: string;
    reason: 'incorrect_data' | 'did_not_occur';
    correctiveEventIDs?: string[];
  };
  epcList?: string[];
  parentID?: string;
  childEPCs?: string[];
  action: BusinessStep['action'];
  bizStep?: string;
  disposition?: string;
  readPoint?: { id: string };
  bizLocation?: { id: string };
  bizTransactionList?: { type?: string; bizTransaction: string }[];
  sourceList?: { type: 'location'; source: string }[];
  destinationList?: { type: 'location'; destination: string }[];
  ilmd?: Record<string, string>;
  [own: `pedigree:${string}`]: string;
}
