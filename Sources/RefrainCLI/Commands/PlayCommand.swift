// SPDX-License-Identifier: MIT
#if os(Linux)
  public import ArgumentParser
  import Foundation
  import Refrain
  import RefrainPlayer

  struct PlayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "play",
      abstract: "Play sound and video through the cache, and store it.",
      discussion: """
        Stored bytes come from disk, the others from the origin, once. While an item plays, all of \
        it is fetched, and then the beginning of the next. Files play without the cache. Streams \
        (HLS, DASH) play by the URL of their manifest.

        Playlists (M3U, PLS) and podcast feeds (RSS, Atom) play too, local or by URL, and playlists \
        in playlists. They are recognized by their content, whatever their names: a URL that ends \
        in .mp3, .mkv and the like, when its turn comes. Its entries then take its place in the \
        queue. The episodes of a feed play from the newest to the oldest. \
        Of a folder all media files are played, also those of folders in it, in the order of their \
        names; hidden files are left out. '-' is a list on standard input: a path or URL per line, \
        or any playlist.

        Where there is a display (Wayland or X11), a video is shown in a window. Its keys are \
        those of the terminal, except those for the list, '/', ':' and '?'. 'f' and a double click \
        change fullscreen, Escape leaves it. Closing the window ends 'play', as 'q' does; 'v' \
        closes and opens it while the sound plays on. Without a display, or with --audio-only, \
        only the sound is played. Subtitles are taken from the file, from --sub, and from files \
        beside a local file with the same name, also with a language and 'forced', 'sdh' or 'cc' \
        behind it (film.de.srt, film.en.forced.srt).

        In a terminal 'play' shows a screen: '?' lists its keys, 'q' quits. If an item cannot be \
        played, the screen stays until 'q'. Elsewhere, or with --plain, 'play' prints lines: after \
        each item, a line shows the time to the first sound, and the bytes from the origin and \
        from disk. With --log-level info these lines are also printed when the screen closes.

        Without a sound device, playing continues in real time, and a message says so. \
        --audio-output writes the sound to a WAV file instead, as fast as it can be decoded; \
        further items of one command go to FILE-2.wav, FILE-3.wav and so on.

        A desktop shows the player and controls it, by MPRIS over the D-Bus of the session: media \
        keys, the panel, 'playerctl'. The picture is that of the playlist or feed, or cover.jpg or \
        folder.jpg beside a local file. --no-mpris turns all that off.

        Items longer than ten minutes continue where playback stopped, unless --from-start is \
        given: the position is stored as they play, and forgotten at the end. --resume continues \
        the whole last queue. 'refrain rm' forgets the positions of URLs, 'rm --all' all positions \
        and the queue.

        With --rewind, a part of a station or live stream is kept in memory while it plays or is \
        paused, and can be sought in: by the arrows, by ':' (-8:00 is eight minutes before the \
        newest sound), and 'L' returns to the present. It is gone when the next item plays. After \
        a pause that lasts longer than there is room for, it goes on where it was paused, and then \
        at the present.

        With --json each line of standard output is an object. Its 'event' is 'item' (the next \
        item begins; 'metadata' is what its list says of it), 'status' (the player's state, and \
        the cause of waiting), 'metadata', \
        'duration', 'live' (a live stream, without a duration), 'liveWindow' (the kept part of a \
        live stream, with --rewind: from 'startSeconds' to 'endSeconds'), 'seekRefused' (a live \
        stream cannot seek), 'expanded' (the item was a list, and its entries have taken its \
        place), 'started' (the seconds until the first sound), 'position', 'cached' \
        (with 'storedBytes' and 'totalBytes'; for a stream 'storedSeconds' and 'totalSeconds'), \
        'chapter' (its title and start, where a podcast's feed names a file of them), \
        'tracks' (of an item with a choice), 'video' (its size, codec and late frames; without a \
        size, none is shown any more), 'videoUnavailable' (only the sound plays), 'subtitleFailed' \
        ('subtitle' could not be read), \
        'retrying' (a failed request, and the seconds until the next one), 'silent', 'ended' (the \
        item played to its end), 'failed' or, after an item that neither failed nor was expanded, \
        'report' (of a stream without the bytes). A reader that falls 10,000 lines behind misses \
        some: 'dropped' states their 'count'.

        Examples:
          refrain play https://example.org/song.flac
          refrain play --start 1:30 https://example.org/song.flac
          refrain play --shuffle --repeat all https://example.org/album.m3u8 ~/Music
          refrain play ~/Music/album ~/Music/concert.m3u
          refrain play https://example.org/podcast.xml
          find ~/Music -name '*.flac' -newer list | refrain play -
          refrain play --rewind 2h https://example.org/radio
          refrain play --resume
          refrain play --audio-output heard.wav https://example.org/song.flac
          refrain play --sample
        """)

    @Argument(
      help: ArgumentHelp(
        "The files, folders, URLs, playlists and feeds to play, or '-'.", valueName: "file or url"),
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

    @Flag(help: "Play only the sound of videos.")
    var audioOnly = false

    @Flag(help: "Open a window for songs too, with their cover.")
    var window = false

    @Option(
      help: ArgumentHelp(
        """
        A subtitle of the first item; one on the network is stored in the cache, and receives the \
        headers of --header. Its language is the one in its name, as in film.de.srt. May be repeated.
        """, valueName: "file or url"),
      completion: .file(),
      transform: { text in try usage { try PlayArgument.parse(text) } })
    var sub: [URL] = []

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
      help: ArgumentHelp(
        "Select what to repeat. Default: off; with --resume, as before.", valueName: "off|one|all"))
    var repeatMode: PlayQueue.RepeatMode?

    @Option(help: ArgumentHelp("The volume, from 0 to 100.", valueName: "percent"))
    var volume: Int?

    @Flag(help: "Wait for a key before playing.")
    var paused = false

    @Flag(help: "Print lines, even in a terminal.")
    var plain = false

    @Flag(
      help: """
        Do not offer the player to the desktop: no media keys, no entry in its panel, no \
        'playerctl' (MPRIS).
        """)
    var noMpris = false

    @OptionGroup(title: "Listening options")
    var listening: ListeningOptions

    @OptionGroup(title: "Network options")
    var network: NetworkOptions

    @OptionGroup
    var options: GlobalOptions

    func validate() throws {
      let sources = [!urls.isEmpty, sample, listening.resume, listening.listsDevices]
      guard !listening.listsDevices || sources.count(where: \.self) == 1 else {
        throw ValidationError(
          "'--device list' plays nothing: omit it, or the files and URLs, --sample and --resume.")
      }
      guard sources.contains(true) else {
        throw ValidationError("Name the files and URLs to play, or use --sample or --resume.")
      }
      guard sources.count(where: \.self) == 1 else {
        throw ValidationError(
          "Files and URLs, --sample and --resume exclude each other.")
      }
      guard !listening.resume || (start == .zero && audioOutput == nil && sub.isEmpty) else {
        throw ValidationError("--resume excludes --start, --sub and --audio-output.")
      }
      guard !listening.resume || options.headers.isEmpty else {
        throw ValidationError(
          "The items of a queue keep their headers: omit --header, or name the URLs to play.")
      }
      guard listening.device == nil || audioOutput == nil else {
        throw ValidationError("--device and --audio-output exclude each other.")
      }
      guard (0...100).contains(volume ?? 100) else {
        throw ValidationError("The volume must be from 0 to 100.")
      }
      guard audioOutput == nil || [nil, .off].contains(repeatMode) else {
        throw ValidationError("Sound written to a file cannot repeat. Omit --repeat.")
      }
      guard !window || !audioOnly else {
        throw ValidationError("--window and --audio-only exclude each other.")
      }
      try validateSubtitles()
      let canResume = isScreenWanted || settings.video.showsVideo
      guard !paused || canResume else {
        throw ValidationError(
          "Without the screen and a window, no key can resume playing. Omit --paused.")
      }
    }

    private func validateSubtitles() throws {
      guard sub.isEmpty || !(audioOnly || audioOutput != nil || sample) else {
        throw ValidationError(
          "--audio-only, --audio-output and --sample show no subtitles. Omit --sub.")
      }
      for subtitle in sub {
        guard subtitle != PlayArgument.standardInput else {
          throw ValidationError("--sub cannot be read from standard input. Name a file or a URL.")
        }
        if let problem = PlayArgument.problem(with: subtitle) {
          throw ValidationError("\(problem)")
        }
      }
    }

    func run() async throws {
      let options = options
      if options.logLevel < .debug { SoundLibraries.silence() }
      if listening.listsDevices { return try await SoundDevices.show(asJSON: options.json) }
      let (settings, isScreenWanted) = (settings, isScreenWanted)
      let showsVideo = settings.video.showsVideo
      let makePlays: @MainActor @Sendable () -> PlaySession = {
        PlaySession(
          settings,
          screen: isScreenWanted ? PlayScreen(options: options, showsVideo: showsVideo) : nil)
      }
      let makePlain: @MainActor @Sendable () -> PlaySession = { PlaySession(settings, screen: nil) }
      if sample {
        SoundLibraries.loadAhead()
        // A slowed origin would delay a start later in the tune.
        let isWatched = isScreenWanted && start == .zero && seek == nil
        return try await SamplePlay(options: options, isWatched: isWatched).run(makePlays)
      }
      let (urls, resumes) = (urls, listening.resume)
      var configuration = network.configuration(options)
      // The bytes that a demuxer reads of most formats before the first sound, in one request.
      configuration.firstRequest = 256 << 10
      try await withCache(options, configuration: configuration) { cache in
        // Without this the first sound of what is not stored comes some 80 ms later: 314 for 242 ms
        // and 381 for 289 ms in debug builds, medians of 21 and of 24 alternate runs.
        cache.startThreads()
        // The screen's thread could not start meanwhile either; reading lists takes longer.
        if !isScreenWanted || !urls.allSatisfy({ MediaFiles.isMedia($0.lastPathComponent) }) {
          SoundLibraries.loadAhead()
        }
        let session = resumes ? try await ListeningSettings.lastSession(in: cache) : nil
        let loading = try await Self.load(urls, options, from: cache)
        // Without media there is no screen.
        try await Self.play(
          loading, session, from: cache,
          reportsItems: !isScreenWanted || options.logLevel >= .info,
          loading.media.isEmpty && session == nil ? makePlain : makePlays)
      }
    }

    private static func load(
      _ urls: [URL], _ options: GlobalOptions, from cache: MediaCache
    ) async throws -> PlaylistLoading {
      defer { Console.shared.clear() }
      let isShown = !options.json && options.logLevel >= .warning
      let show: @Sendable (String) -> Void = { Console.shared.show($0) }
      return try await PlaylistLoading(
        of: urls, options: options, from: cache, showing: isShown ? show : nil)
    }

    @MainActor
    private static func play(
      _ loading: PlaylistLoading, _ session: PlayerSession?, from cache: MediaCache,
      reportsItems: Bool,
      _ makePlays: @MainActor () -> PlaySession
    ) async throws {
      for text in loading.skipped { Console.shared.note("refrain: \(printable(text))") }
      let plays = makePlays()
      for failure in loading.failures { plays.fail(failure.url, failure.error) }
      let result: Result<Void, any Error>
      do {
        plays.session = session
        let media = session?.queue.items.map(\.media) ?? loading.media
        if !media.isEmpty {
          try await plays.play(media, from: cache) { media, report in
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
        repeatMode: repeatMode, isShuffled: shuffle, volume: Double(volume ?? 100) / 100,
        isPaused: paused, isJSON: options.json, isQuiet: options.logLevel < .warning,
        video: VideoChoice(
          isSoundOnly: audioOnly || sample, hasOutputFile: audioOutput != nil,
          showsCovers: window, display: Display.first),
        subtitles: sub.map { Media.Subtitle($0, headers: $0.isFileURL ? [:] : options.fields) },
        listening: ListeningSettings(
          remembers: !sample && audioOutput == nil, beginsWhereLeft: !listening.fromStart,
          hasVolume: volume != nil, rate: listening.rate, device: listening.device,
          replayGain: listening.replayGain, rewind: listening.rewind),
        // Sound for a file is not listened to.
        desktop: noMpris || audioOutput != nil ? nil : options)
    }
  }

  extension PlayQueue.RepeatMode: ExpressibleByArgument {}
#endif
