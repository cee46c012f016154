// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Opens the cache, does the work, and closes the cache in any case; ends on signals.
///
/// - Parameter configuration: the cache's configuration; nil: that of the options.
func withCache(
  _ options: GlobalOptions, at directory: URL? = nil,
  configuration: MediaCache.Configuration? = nil,
  _ work: @escaping @Sendable (MediaCache) async throws -> Void
) async throws {
  try await endingOnSignals {
    try await withOpenCache(options, at: directory, configuration: configuration, work)
  }
}

/// As `withCache`, for commands that only manage stored resources: if there is no cache yet, none
/// is created, and the work receives nil.
func withExistingCache(
  _ options: GlobalOptions, _ work: @escaping @Sendable (MediaCache?) async throws -> Void
) async throws {
  guard options.hasCache else { return try await endingOnSignals { try await work(nil) } }
  try await withCache(options, work)
}

/// Opens the cache, does the work, and closes the cache in any case.
///
/// - Parameter givesUpStalledLog: whether a reader of standard error that stalls delays the end by
///   no more than some seconds; otherwise that is so only after a signal.
func withOpenCache<Value: Sendable>(
  _ options: GlobalOptions, at directory: URL? = nil,
  configuration: MediaCache.Configuration? = nil, givesUpStalledLog: Bool = false,
  _ work: @Sendable (MediaCache) async throws -> Value
) async throws -> Value {
  let cache = try MediaCache(
    directory: directory ?? options.directory,
    configuration: configuration ?? options.configuration)
  let log = EventLog(cache, options.logLevel)
  let result: Result<Value, any Error>
  do {
    result = .success(try await work(cache))
  } catch {
    result = .failure(error)
  }
  await cache.close()
  // Closing ends the events; pending ones are still logged.
  await log.end()
  await Console.shared.endNotes(givesUp: givesUpStalledLog)
  Console.shared.clear()
  return try result.get()
}
