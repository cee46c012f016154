// SPDX-License-Identifier: MIT
#if os(Linux)
  import ArgumentParser
  import Foundation
  import Refrain
  import RefrainPlayer

  struct PlayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "play",
      abstract: "Play sound through the cache, and keep it.",
      discussion: """
        Bytes that are stored come from disk, the others from the origin, once; while an item \
        plays, the whole of it is fetched, and then the beginning of the next. Only sound is \
        played, also of a video. Playlists (M3U, PLS, XSPF), local or by URL, are told by their \
        names' endings; files play as they are.

        In a terminal it is a screen: '?' shows its keys, 'q' leaves it, and where something cannot \
        be played it stays until then. Elsewhere, or with --plain, it prints lines: when an item is \
        over, one says how long the first sound took, and how many bytes came from where. The \
        screen leaves these lines behind with --log-level info.

        Without a sound device it plays on in real time, and says so. --audio-output writes what \
        would be heard to a WAV file instead, as fast as it can be decoded; further items of one \
        command go to FILE-2.wav, FILE-3.wav and so on.

        With --json each line of standard output is an object. Its 'event' is 'item' (another one \
        is next), 'status' (what the player does, and what it waits for), 'metadata', 'duration', \
        'live' (it is a live stream, and has no duration), 'seekRefused' (nothing can be sought in \
        a live stream), 'started' (the first sound came after so many seconds), 'position', \
        'cached' (how many bytes are stored), 'retrying' (a request failed, and the next one is \
        sent after so many seconds), 'silent', 'ended' (the item was played to its end), 'failed' \
        or, when \
        an item that did not fail is over, 'report'.

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
        Play a tune from an origin on this computer, cold and then warm. The cache is a temporary \
        one, unless --cache says.
        """)
    var sample = false

    @Option(
      help: ArgumentHelp("Write the sound to a WAV file instead.", valueName: "file.wav"),
      completion: .file(extensions: ["wav"]))
    var audioOutput: String?

    @Option(
      help: ArgumentHelp(
        "Begin the first item at a position within it: seconds, or 1:30.", valueName: "position"),
      transform: { text in try usage { try TimeText.parse(text) } })
    var start = Duration.zero

    @Option(
      help: ArgumentHelp("Jump to a position once sound has come.", valueName: "position"),
      transform: { text in try usage { try TimeText.parse(text) } })
    var seek: Duration?

    @Flag(help: "Play in random order.")
    var shuffle = false

    @Option(
      name: .customLong("repeat"),
      help: ArgumentHelp("What is played again.", valueName: "off|one|all"))
    var repeatMode = RepeatArgument.off

    @Option(help: ArgumentHelp("How loud, from 0 to 100.", valueName: "percent"))
    var volume = 100

    @Flag(help: "Wait for a key before playing.")
    var paused = false

    @Flag(help: "Print lines, also in a terminal.")
    var plain = false

    @OptionGroup(title: "Network options")
    var network: NetworkOptions

    @OptionGroup
    var options: GlobalOptions

    func validate() throws {
      guard urls.isEmpty == sample else {
        throw ValidationError("Name the files and URLs to play, or say --sample.")
      }
      guard (0...100).contains(volume) else {
        throw ValidationError("The volume is from 0 to 100.")
      }
      guard audioOutput == nil || repeatMode == .off else {
        throw ValidationError("What is written to a file is not repeated: leave out --repeat.")
      }
      guard !paused || isScreenWanted else {
        throw ValidationError("Nobody could press a key: leave out --paused.")
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
