// SPDX-License-Identifier: MIT
#if os(Linux)
  import ArgumentParser
  import Foundation
  import Refrain
  import RefrainPlayer

  struct PlayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "play",
      abstract: "Play sound through the cache, and store it.",
      discussion: """
        Stored bytes come from disk, the others from the origin, once. While an item plays, all of \
        it is fetched, and then the beginning of the next. Only sound is played, also of a video. \
        Playlists (M3U, PLS, XSPF), local or by URL, are recognized by the extensions of their \
        names; files play without the cache. Streams (HLS, DASH) play by the URL of their manifest.

        In a terminal 'play' shows a screen: '?' lists its keys, 'q' quits. If an item cannot be \
        played, the screen stays until 'q'. Elsewhere, or with --plain, 'play' prints lines: after \
        each item, a line shows the time to the first sound, and the bytes from the origin and \
        from disk. With --log-level info these lines are also printed when the screen closes.

        Without a sound device, playing continues in real time, and a message says so. \
        --audio-output writes the sound to a WAV file instead, as fast as it can be decoded; \
        further items of one command go to FILE-2.wav, FILE-3.wav and so on.

        With --json each line of standard output is an object. Its 'event' is 'item' (the next \
        item begins), 'status' (the player's state, and the cause of waiting), 'metadata', \
        'duration', 'live' (a live stream, without a duration), 'seekRefused' (a live stream \
        cannot seek), 'started' (the seconds until the first sound), 'position', 'cached' (with \
        'storedBytes' and 'totalBytes'; for a stream 'storedSeconds' and 'totalSeconds'), \
        'retrying' (a failed request, and the seconds until the next one), 'silent', 'ended' (the \
        item played to its end), 'failed' or, after an item that did not fail, 'report'.

        Examples:
          refrain play https://example.org/song.flac
          refrain play --start 1:30 https://example.org/song.flac
          refrain play --shuffle --repeat all https://example.org/album.m3u8 ~/Music/song.ogg
          refrain play --audio-output heard.wav https://example.org/song.flac
          refrain play --sample
        """)

    @Argument(
      help: ArgumentHelp("The files, URLs and playlists to play.", valueName: "file or url"),
      completion: .file(),
      transform: { text in try usage { try PlayArgument.parse(text) } })
    var urls: [URL] = []

    @Flag(
      help: """
        Play a tune from an origin on this computer, cold and then warm. The cache is temporary \
        unless --cache is given.
        """)
    var sample = false

    @Option(
      help: ArgumentHelp("Write the sound to a WAV file instead.", valueName: "file.wav"),
      completion: .file(extensions: ["wav"]))
    var audioOutput: String?

    @Option(
      help: ArgumentHelp(
        "Start the first item at a position within it: seconds, or 1:30.", valueName: "position"),
      transform: { text in try usage { try TimeText.parse(text) } })
    var start = Duration.zero

    @Option(
      help: ArgumentHelp("Jump to a position once sound has started.", valueName: "position"),
      transform: { text in try usage { try TimeText.parse(text) } })
    var seek: Duration?

    @Flag(help: "Play in random order.")
    var shuffle = false

    @Option(
      name: .customLong("repeat"),
      help: ArgumentHelp("Select what to repeat.", valueName: "off|one|all"))
    var repeatMode = RepeatArgument.off

    @Option(help: ArgumentHelp("The volume, from 0 to 100.", valueName: "percent"))
    var volume = 100

    @Flag(help: "Wait for a key before playing.")
    var paused = false

    @Flag(help: "Print lines, even in a terminal.")
    var plain = false

    @OptionGroup(title: "Network options")
    var network: NetworkOptions

    @OptionGroup
    var options: GlobalOptions

    func validate() throws {
      guard urls.isEmpty == sample else {
        throw ValidationError("Name the files and URLs to play, or use --sample.")
      }
      guard (0...100).contains(volume) else {
        throw ValidationError("The volume must be from 0 to 100.")
      }
      guard audioOutput == nil || repeatMode == .off else {
        throw ValidationError("Sound written to a file cannot repeat. Omit --repeat.")
      }
      guard !paused || isScreenWanted else {
        throw ValidationError("Without the screen no key can resume playing. Omit --paused.")
      }
    }

    func run() async throws {
      let options = options
      if options.logLevel < .debug { SoundLibraries.silence() }
      let (settings, isScreenWanted) = (settings, isScreenWanted)
      let makePlays: @MainActor @Sendable () -> PlaySession = {
        PlaySession(settings, screen: isScreenWanted ? PlayScreen(options: options) : nil)
      }
      let makePlain: @MainActor @Sendable () -> PlaySession = { PlaySession(settings, screen: nil) }
      if sample {
        // A slowed origin would delay a start later in the tune.
        let isWatched = isScreenWanted && start == .zero && seek == nil
        return try await SamplePlay(options: options, isWatched: isWatched).run(makePlays)
      }
      let urls = urls
      var configuration = network.configuration(options)
      // The bytes that a demuxer reads of most formats before the first sound, in one request.
      configuration.firstRequest = 256 << 10
      try await withCache(options, configuration: configuration) { cache in
        let loading = try await PlaylistLoading(of: urls, options: options, from: cache)
        // Without media there is no screen.
        try await Self.play(
          loading, from: cache, reportsItems: !isScreenWanted || options.logLevel >= .info,
          loading.media.isEmpty ? makePlain : makePlays)
      }
    }

    @MainActor
    private static func play(
      _ loading: PlaylistLoading, from cache: MediaCache, reportsItems: Bool,
      _ makePlays: @MainActor () -> PlaySession
    ) async throws {
      for text in loading.skipped { Console.shared.note("refrain: \(printable(text))") }
      let plays = makePlays()
      for failure in loading.failures { plays.fail(failure.url, failure.error) }
      let result: Result<Void, any Error>
      do {
        if !loading.media.isEmpty {
          try await plays.play(loading.media, from: cache) { media, report in
            if reportsItems, !report.isEmpty {
              try plays.write("\(URLArgument.name(of: media.url)): \(report.text)")
            }
          }
        }
        result = .success(())
      } catch {
        result = .failure(error)
      }
      try await plays.finish()
      try result.get()
      if plays.hasFailed { throw ExitCode.failure }
    }

    private var isScreenWanted: Bool {
      !plain && !options.json && audioOutput == nil && Console.shared.hasScreen
    }

    private var settings: PlaySettings {
      PlaySettings(
        start: start, seek: seek, output: audioOutput.map { URL(filePath: $0) },
        repeatMode: repeatMode.mode, isShuffled: shuffle, volume: Double(volume) / 100,
        isPaused: paused, isJSON: options.json, isQuiet: options.logLevel < .warning)
    }
  }

  enum RepeatArgument: String, CaseIterable, ExpressibleByArgument {
    case off, one, all

    var mode: PlayQueue.RepeatMode {
      switch self {
      case .off: .off
      case .one: .one
      case .all: .all
      }
    }
  }
#endif
