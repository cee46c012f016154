// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import RefrainPlayer

  /// The control socket of `play`: programs send commands to the player, and receive its events, in
  /// the shape of mpv's JSON IPC (mpv(1), "JSON IPC").
  @MainActor
  final class ControlServer {
    private let socket: ControlSocket
    private let mailbox: ControlMailbox
    private let options: GlobalOptions
    private weak var player: Player?
    private var cache: MediaCache?
    private var quit: (@MainActor @Sendable () -> Void)?
    private var show: (@MainActor @Sendable (String) -> Void)?
    private var fileEvents = ControlFileEvents()
    /// The chapters of an item that are in a file of their own.
    private var chapters: (item: PlayQueue.Item.ID, list: [Media.Chapter])?
    private var following: Task<Void, Never>? { didSet { oldValue?.cancel() } }
    /// The media that are being found, by numbers.
    private var loadings: [Int: Task<Void, Never>] = [:]
    private var lastLoading = 0
    private var isClosed = false
    /// Returns the sound devices. They come and go, so they are looked up each time.
    var devices: @Sendable () async throws -> [AudioDevice] = {
      try await MPVEngine.audioDevices()
    }

    private init(_ socket: ControlSocket, _ mailbox: ControlMailbox, _ options: GlobalOptions) {
      (self.socket, self.mailbox, self.options) = (socket, mailbox, options)
    }

    /// Creates the socket. Clients are served from the first `follow` on.
    ///
    /// - Parameter options: apply to media that clients name.
    /// - Throws: `ProgramError`.
    static func open(_ path: String, _ options: GlobalOptions) async throws -> ControlServer {
      let socket = try await IOThreads.background.run { try ControlSocket(at: path) }
      guard let mailbox = ControlMailbox() else {
        await IOThreads.background.run { socket.remove() }
        throw ProgramError(
          "The control socket could not be created: too many files are open.",
          remedy: "Raise the limit: 'ulimit -n'.")
      }
      return ControlServer(socket, mailbox, options)
    }

    /// Lets clients control this player from now on.
    ///
    /// - Parameters:
    ///   - quit: ends the program.
    ///   - show: shows a line on the screen.
    func follow(
      _ player: Player, _ cache: MediaCache, quit: @escaping @MainActor @Sendable () -> Void,
      show: @escaping @MainActor @Sendable (String) -> Void = { _ in }
    ) {
      (self.player, self.cache, self.quit) = (player, cache, quit)
      (self.show, fileEvents, chapters) = (show, ControlFileEvents(), nil)
      publish()
      let events = player.events()
      following = Task { [weak self] in
        for await _ in events {
          guard let self, !Task.isCancelled else { return }
          publish()
        }
      }
      guard mailbox.begin() else { return }
      ControlLoop.start(socket.file, mailbox) { [weak self] action, client in
        Task { @MainActor in self?.perform(action, for: client) }
      }
    }

    /// Passes an event of `--json` to all clients.
    func send(_ event: PlayEvent) { mailbox.send(.program(event)) }

    /// Sends the events of mpv that an event of the player means to all clients.
    ///
    /// - Parameter isQuitting: whether somebody has ended the program.
    func note(_ event: PlayerEvent, isQuitting: Bool) {
      for line in fileEvents.note(event, isQuitting: isQuitting) { mailbox.send(.file(line)) }
    }

    /// Shows the chapters of an item that are in a file of their own.
    func setChapters(_ list: [Media.Chapter], of item: PlayQueue.Item.ID) {
      chapters = (item, list)
      publish()
    }

    /// Lets nobody control the player any more, which is about to close.
    func leave() {
      following = nil
      for loading in loadings.values { loading.cancel() }
      publish()
      (player, cache, quit, show) = (nil, nil, nil, nil)
    }

    /// Removes the socket. Returns when all connections are closed.
    func close() async {
      guard !isClosed else { return }
      isClosed = true
      leave()
      mailbox.close()
      await mailbox.ended()
      let socket = socket
      await IOThreads.background.run { socket.remove() }
    }

    private var state: ControlState {
      ControlState(
        player: player?.state ?? PlayerState(),
        canShowVideo: player?.capabilities.selectableTracks.contains(.video) ?? false,
        loadedChapters: loadedChapters)
    }

    private var loadedChapters: [Media.Chapter] {
      guard let chapters, chapters.item == player?.queue.current?.id else { return [] }
      return chapters.list
    }

    private func publish() { mailbox.publish(state) }

    // MARK: Actions

    private static let gone = ControlRefusal.playerHasEnded

    private func perform(_ action: ControlCommand, for client: Int) {
      guard let player else { return mailbox.answer(client, .failure(Self.gone)) }
      do throws(ControlRefusal) {
        switch try state.decide(action) {
        case .player(let commands): for command in commands { player.send(command) }
        case .toggleFullscreen: player.toggleFullscreen()
        case .show(let text): show?(text)
        case .quit: quit?()
        case .load(let text, let place): return load(text, place, for: client)
        case .selectAudioDevice(let name): return selectAudioDevice(name, for: client)
        case .listAudioDevices: return listAudioDevices(for: client)
        }
        publish()
        mailbox.answer(client, .success(.null))
      } catch {
        mailbox.answer(client, .failure(error))
      }
    }

    // MARK: Sound devices

    private func listAudioDevices(for client: Int) {
      lookUpDevices(for: client, refusal: .propertyUnavailable) { devices, _ in
        .array(
          devices.map {
            .object(["name": .string($0.name), "description": .string($0.description)])
          })
      }
    }

    private func selectAudioDevice(_ name: String, for client: Int) {
      lookUpDevices(for: client, refusal: .propertyError) { devices, player in
        let found = try SoundDevices.find(name, among: devices)
        player.audioDevice = found == ControlState.systemDevice ? nil : found
        return .null
      }
    }

    /// Answers when the devices are known.
    private func lookUpDevices(
      for client: Int, refusal: ControlRefusal.Fault,
      _ use: @escaping @MainActor ([AudioDevice], Player) throws -> ControlValue
    ) {
      lastLoading += 1
      loadings[lastLoading] = Task { [weak self, devices, number = lastLoading] in
        let found: Result<[AudioDevice], any Error>
        do { found = .success(try await devices()) } catch { found = .failure(error) }
        guard let self else { return }
        loadings[number] = nil
        var answer = ControlAnswer.failure(Self.gone)
        if let player {
          do {
            answer = .success(try use(try found.get(), player))
          } catch {
            answer = .failure(ControlRefusal(refusal, "\(error)"))
          }
        }
        publish()
        mailbox.answer(client, answer)
      }
    }

    // MARK: Loading

    /// Finds media, and answers when they are in the queue. Whether the client waits for the answer
    /// does not matter.
    private func load(_ text: String, _ place: ControlCommand.LoadPlace, for client: Int) {
      guard let player, let cache else { return }
      lastLoading += 1
      loadings[lastLoading] = Task { [weak self, weak player, options, number = lastLoading] in
        let answer: ControlAnswer
        do {
          let items = player?.queue.items ?? []
          let added = try await AddedMedia([text], beside: items, options, from: cache)
          if let self, let player, player === self.player {
            answer = Self.insert(added, place, in: player)
          } else {
            answer = .failure(Self.gone)
          }
        } catch is CancellationError {
          answer = .failure(Self.gone)
        } catch {
          answer = .failure(ControlRefusal(.loadingFailed, "It was not loaded: \(error)"))
        }
        guard let self else { return }
        loadings[number] = nil
        publish()
        mailbox.answer(client, answer)
      }
    }

    private static func insert(
      _ added: AddedMedia, _ place: ControlCommand.LoadPlace, in player: Player
    ) -> ControlAnswer {
      guard !added.media.isEmpty else {
        return .failure(
          ControlRefusal(.loadingFailed, added.problems.map(\.text).joined(separator: " ")))
      }
      let before = Set(player.queue.items.map(\.id))
      let isIdle = !ControlState(player: player.state).isOccupied
      switch place {
      case .replace: player.play(added.media)
      case .append, .appendPlay: player.enqueue(added.media)
      case .insertNext, .insertNextPlay: player.insertNext(added.media)
      }
      let first = player.queue.items.first { !before.contains($0.id) }?.id
      if let first, isIdle, place.playsIfIdle { player.jump(to: first) }
      return .success(
        .object([
          "playlist_entry_id": first.map { .integer(Int64($0.rawValue)) } ?? .null,
          "count": ControlValue(added.media.count),
          "problems": .array(added.problems.map { .string($0.text) }),
        ]))
    }
  }
#endif
