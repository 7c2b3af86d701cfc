import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { SEARCH_ATTRIBUTES } from '../contracts/ids.ts';
import { isGrpcAlreadyExists } from './client.ts';

const { IndexedValueType } = proto.temporal.api.enums.v1;
const INDEXED_VALUE_TYPE = {
  KEYWORD: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
  INT: IndexedValueType.INDEXED_VALUE_TYPE_INT,
};

/** Registers the search attributes of orders. Idempotent. A namespace keeps them permanently. */
export async function registerSearchAttributes(client: Client, namespace: string): Promise<void> {
  for (const [name, type] of Object.entries(SEARCH_ATTRIBUTES)) {
    const searchAttributes = { [name]: INDEXED_VALUE_TYPE[type] };
    try {
      await client.connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
    } catch (error) {
      if (!isGrpcAlreadyExists(error)) throw error;
    }
  }
}
