// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainLocks

struct GetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Fetch whole resources into the cache.",
    discussion: """
      Bytes that are already stored are not requested again: an interrupted 'get' resumes where \
      it stopped, and uses bytes that were played. 'refrain path' prints the file. If a URL fails, \
      the error is reported and the others are still fetched. Small resources are fetched several \
      at a time; the results are printed in the order of the URLs.

      A failed request that is sent again is reported at once, with the reason.

      With --json each line of standard output is an object whose 'event' is 'progress' (with \
      'storedBytes' and 'totalBytes'), 'retrying' (with 'error', and the delay in 'seconds'), \
      'done' or 'failed'.

      Examples:
        refrain get https://example.org/song.flac
        refrain get --output song.flac https://example.org/song.flac
        refrain get --output - https://example.org/song.flac | ffprobe -
        refrain get --header 'Authorization: Bearer …' https://example.org/private.flac
      """)

  @Argument(help: ArgumentHelp("The URLs to fetch.", valueName: "url"), transform: URL.argument)
  var urls: [URL]

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      """
      Also write the resource to a file, replacing an existing one, or to standard output if the \
      file is '-'. For one URL.
      """,
      valueName: "file"),
    completion: .file())
  var output: String?

  @OptionGroup(title: "Network options")
  var network: NetworkOptions

  @OptionGroup
  var options: GlobalOptions

  func validate() throws {
    guard output == nil || urls.count == 1 else {
      throw ValidationError("--output takes one URL.")
    }
    guard output != "-" || !options.json else {
      throw ValidationError("Standard output takes either the resource or JSON. Omit one of them.")
    }
    var isDirectory: ObjCBool = false
    if let output, FileManager.default.fileExists(atPath: output, isDirectory: &isDirectory),
      isDirectory.boolValue
    {
      throw ValidationError("--output names a folder; name a file in it.")
    }
  }

  func run() async throws {
    let (urls, options) = (urls, options)
    let output = output.map(FileCopy.Destination.init)
    try await withCache(options, configuration: network.configuration(options)) { cache in
      let fetches = urls.map { url in
        Fetch(url: url, key: cache.key(for: options.resource(url)))
      }
      let (running, evictions) = (RunningFetches(), EvictionDisplay())
      var hasFailed = false
      try await cache.reportingRetries { retry in
        guard let reports = running[retry.key], options.json || retry.isNews else { return }
        reports.retrying(retry.error, after: retry.delay, isQuiet: options.logLevel < .warning)
      } evicted: {
        evictions.note(freed: $0)
      } during: {
        try await GetQueue(items: fetches).run { fetch, turn in
          let reports = GetReports(url: fetch.url, isJSON: options.json)
          running[fetch.key] = reports
          defer { running[fetch.key] = nil }
          let resource = options.resource(fetch.url)
          let progress = reports.progress { turn.hasCome }
          guard let output else {
            return try await Self.fetch(resource, into: cache, told: progress)
          }
          return try await FileCopy(to: output).run(resource, from: cache, told: progress)
        } report: { fetch, result in
          let reports = GetReports(url: fetch.url, isJSON: options.json)
          do {
            try reports.done(result.get(), output: output)
          } catch {
            try reports.failed(error)
            guard let error = error as? MediaCacheError, error.code != .closed else { throw error }
            Console.shared.clear()
            Console.shared.note(failureLine(fetch.url, error))
            hasFailed = true
          }
        }
      }
      if hasFailed { throw ExitCode.failure }
    }
  }

  private struct Fetch: Sendable {
    var url: URL
    var key: CacheKey
  }

  /// The reports of the fetches under way, for retries.
  private final class RunningFetches: Sendable {
    private let fetches = Mutex<[CacheKey: GetReports]>([:])

    subscript(_ key: CacheKey) -> GetReports? {
      get { fetches.withLock { $0[key] } }
      set { fetches.withLock { $0[key] = newValue } }
    }
  }

  /// Returns the resource's length.
  private static func fetch(
    _ resource: Resource, into cache: MediaCache,
    told: @escaping @Sendable (_ stored: Int64, _ total: Int64?) -> Void
  ) async throws -> Int64? {
    try await cache.prefetch(resource) { told($0.storedBytes, $0.totalBytes) }.length
  }
}
