// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainLocks
import RefrainStreams

struct GetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Fetch whole resources into the cache.",
    discussion: """
      Bytes that are already stored are not requested again: an interrupted 'get' resumes where \
      it stopped, and uses bytes that were played. 'refrain path' prints the file. If a URL fails, \
      the error is reported and the others are still fetched. Small resources are fetched several \
      at a time; the results are printed in the order of the URLs.

      A URL with a common signature is stored once, whatever its signature. A URL in which another \
      parameter changes is stored once if --key-ignore names it; 'play', 'path', 'info' and 'rm' \
      need the same option to find it.

      A failed request that is sent again is reported at once, with the reason.

      The URL of an HLS or DASH stream that has an end stands for the whole stream: the \
      playlists, segments and keys of one quality are fetched. It then plays with 'refrain play \
      --offline', or through 'refrain serve --offline'. With --output, the first playlist or \
      manifest alone is fetched.

      With --json each line of standard output is an object whose 'event' is 'progress' (with \
      'storedBytes' and 'totalBytes'; for a stream 'storedBytes', 'storedSeconds' and \
      'totalSeconds'), 'selected' (the choice of a stream), 'retrying' (with 'error', and the \
      delay in 'seconds'), 'done' or 'failed'. With --unpin it is 'unpinned' (with 'wasPinned' \
      and 'parts', the number of unpinned files besides the URL's own).

      With --pin, a resource is never removed to make room for others, nor is any part of a \
      stream. What does not fit beside other pinned resources is refused before it is fetched; \
      the size of a stream is estimated by its bit rates, or by the lengths of a few segments. If \
      the room runs out nevertheless, the pins that the download has set are lifted. A pinned \
      stream is stored even if its origin forbids it (no-store), unless the cache is shared. \
      'refrain get --unpin' lifts the pin, also of streams: files that another pinned stream needs \
      stay pinned. 'refrain rm' removes what is pinned as anything else.

      With --offline and without --quality, 'get' selects the best quality of a stream that is \
      stored.

      Examples:
        refrain get https://example.org/song.flac
        refrain get --pin https://example.org/song.flac
        refrain get --output song.flac https://example.org/song.flac
        refrain get --output - https://example.org/song.flac | ffprobe -
        refrain get --list https://example.org/film.m3u8
        refrain get --quality 720 --audio de,en https://example.org/film.m3u8
        refrain get --subtitles all https://example.org/film.m3u8
        refrain get --pin --quality 720 https://example.org/film.mpd
        refrain get --header 'Authorization: Bearer …' https://example.org/a.flac
        refrain get --key-ignore session 'https://example.org/song.flac?session=…'
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

  @OptionGroup(title: "Stream options")
  var stream: StreamOptions

  @OptionGroup
  var pins: PinOptions

  @OptionGroup(title: "Network options")
  var network: NetworkOptions

  @OptionGroup
  var options: GlobalOptions

  func validate() throws {
    guard output == nil || urls.count == 1 else {
      throw ValidationError("--output takes one URL.")
    }
    guard output == nil || !stream.list else {
      throw ValidationError("Use either --output or --list.")
    }
    guard !pins.unpin || (output == nil && !stream.list) else {
      throw ValidationError("--unpin fetches nothing. Omit --output and --list.")
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
    let (urls, pins, options, stream) = (urls, pins, options, stream)
    if pins.unpin { return try await pins.unpin(urls, options) }
    let output = output.map(FileCopy.Destination.init)
    try await withCache(options, configuration: network.configuration(options)) { cache in
      if stream.list {
        return try await StreamList(cache, options, stream.choice.quality).run(urls)
      }
      let fetches = urls.map { url in
        Fetch(url: url, key: cache.key(for: options.resource(url)))
      }
      let (running, evictions) = (RunningFetches(), EvictionDisplay())
      var hasFailed = false
      let isQuiet = options.logLevel < .warning
      try await cache.reportingRetries { retry in
        guard let reports = running[retry.key], options.json || retry.isNews else { return }
        reports.retrying(retry.error, after: retry.delay, isQuiet: isQuiet)
      } evicted: {
        evictions.note(freed: $0)
      } during: {
        try await GetQueue(items: fetches).run { fetch, turn in
          let reports = GetReports(url: fetch.url, isJSON: options.json)
          running[fetch.key] = reports
          defer { running[fetch.key] = nil }
          let resource = options.resource(fetch.url)
          guard let output else {
            let download = StreamFetch(
              resource, into: cache, stream.choice, reports, isPinned: pins.pin)
            return try await download.run(isQuiet: isQuiet) {
              turn.hasCome
            } began: { key, url in
              running[key] = reports.ofPart(url)
            } ended: { key in
              if key != fetch.key { running[key] = nil }
            }
          }
          if pins.pin { try await cache.pin(resource) }
          let progress = reports.progress { turn.hasCome }
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
}
