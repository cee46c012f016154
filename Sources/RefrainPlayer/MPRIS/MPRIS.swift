// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain

  /// Shows a player on a Linux desktop, and lets it be controlled there: media keys, the panel, the
  /// lock screen, `playerctl`. The interface is MPRIS 2.2, over the D-Bus of the user's session.
  ///
  /// libsystemd is loaded when it is needed. Where it or the bus is missing, or the bus goes away,
  /// nothing is offered, nothing is reported, and playing goes on.
  ///
  /// The picture that is shown is that of the media (`Media.artwork`), otherwise `cover.jpg` or
  /// `folder.jpg` beside a local file.
  ///
  /// Keep this object as long as the player, and call `close()` at the end: it gives up the name on
  /// the bus and removes the picture that was shown. Releasing the object does the same, later.
  @MainActor public final class MPRIS {
    /// How the app presents itself.
    public struct Configuration: Sendable, Hashable {
      /// The app's part of the name on the bus: `org.mpris.MediaPlayer2.` and this. Where another
      /// player has that name, `.instance` with the process ID and a number follows.
      public var name: String
      /// The app's name for people.
      public var identity: String
      /// The name of the app's installed .desktop file, without the extension: shows its icon; nil:
      /// none is installed.
      public var desktopEntry: String?
      /// The schemes of URIs that may be opened.
      public var uriSchemes = ["file", "http", "https"]
      /// The types of media that are played.
      public var mimeTypes = [
        "audio/mpeg", "audio/mp4", "audio/aac", "audio/flac", "audio/ogg", "audio/x-vorbis+ogg",
        "audio/x-opus+ogg", "audio/opus", "audio/wav", "audio/x-wav", "audio/x-matroska",
        "audio/webm", "video/mp4", "video/x-matroska", "video/webm", "video/mpeg", "video/ogg",
        "audio/x-mpegurl", "audio/x-scpls", "application/vnd.apple.mpegurl",
        "application/dash+xml",
      ]
      /// The address of the bus; nil: that of the user's session.
      public var address: String?

      /// - Parameters:
      ///   - name: letters, digits, `_` and `-`; other characters become `_`.
      ///   - identity: nil: as `name`.
      ///   - desktopEntry: the name of an installed .desktop file; nil: none.
      public init(_ name: String, identity: String? = nil, desktopEntry: String? = nil) {
        self.name = name
        self.identity = identity ?? name
        self.desktopEntry = desktopEntry
      }
    }

    /// Ends the app; nil: clients cannot.
    public var onQuit: (@MainActor @Sendable () -> Void)? { didSet { publish() } }
    /// Brings the app's window to the front; nil: clients cannot.
    public var onRaise: (@MainActor @Sendable () -> Void)? { didSet { publish() } }
    /// Enters or leaves the fullscreen mode of the app's window. Nil: clients change that of the
    /// player's own window while one is open (`Player.isFullscreen`), and otherwise none.
    public var onFullscreen: (@MainActor @Sendable (Bool) -> Void)? { didSet { publish() } }
    /// Returns the media that a URI names. If the array is empty, nothing plays, and the app
    /// reports why. Without a closure, the URI itself is the media.
    ///
    /// Called for several URIs at once. A client that plays another URI cancels the task, and so
    /// does `close()`.
    public var onOpen: (@MainActor @Sendable (String) async -> [Media])?
    /// Whether the app's window fills the screen. Of the player's own window, the player reports it.
    public var isFullscreen = false { didSet { publish() } }

    private let configuration: Configuration
    private let covers: MPRISCovers
    private weak var player: Player?
    private var mailbox: MPRISMailbox?
    private var isConnected = false
    private var clock = MPRISClock(at: .now)
    /// The item whose picture is shown or being loaded, and that picture.
    private var pictured: (item: PlayQueue.Item?, picture: MediaPicture?)
    /// The URL of the current item's picture, which the desktop reads.
    private var cover: URL?
    private let openings = MPRISOpenings()
    private var following: Task<Void, Never>? { didSet { oldValue?.cancel() } }
    /// The last loading of a picture, which may be cancelled or over.
    private var loading: Task<Void, Never>?

    public init(_ configuration: Configuration) {
      self.configuration = configuration
      covers = MPRISCovers(configuration.name)
    }

    deinit {
      following?.cancel()
      loading?.cancel()
      mailbox?.close()
    }

    /// Shows this player from now on, and passes calls to it.
    public func follow(_ player: Player) {
      self.player = player
      clock = MPRISClock(at: .now)
      if mailbox != nil {
        publish()
        if isConnected { startFollowing() }
      } else {
        connect()
      }
    }

    /// Leaves the bus. Returns when the name is free and the picture is removed.
    public func close() async {
      following = nil
      openings.cancel()
      loading?.cancel()
      player = nil
      mailbox?.close()
      await mailbox?.ended()
      (mailbox, isConnected) = (nil, false)
      // A picture stored later would stay.
      await loading?.value
      await covers.remove()
      (pictured, cover) = ((nil, nil), nil)
    }

    // MARK: The bus

    private func connect() {
      guard let address = configuration.address ?? SessionBus.address(),
        let mailbox = MPRISMailbox(state)
      else { return }
      self.mailbox = mailbox
      let owner = MPRISLoop.Owner(
        perform: { [weak self] call in
          Waiting.forMainActor { self?.perform(call) ?? Self.gone }
        },
        isConnected: { [weak self] in
          Task { @MainActor in self?.begin(mailbox) }
        })
      MPRISLoop.start(
        address: address, name: configuration.name, mailbox: mailbox, owner: owner)
    }

    /// Begins to follow the player, which clients see from now on.
    private func begin(_ mailbox: MPRISMailbox) {
      guard self.mailbox === mailbox else { return }
      isConnected = true
      startFollowing()
    }

    private func startFollowing() {
      guard let player else { return }
      let events = player.events()
      publishState(afterSeek: false, wakes: true)
      // The stream ends with the player.
      following = Task { [weak self] in
        for await event in events {
          guard let self, !Task.isCancelled else { return }
          note(event)
        }
      }
    }

    private static let gone = MPRISAnswer.refused(
      MPRISRefusal(kind: .failed, text: "The player has ended."))

    // MARK: The state

    private var state: MPRISState {
      MPRISState(
        app: MPRISState.App(
          identity: configuration.identity, desktopEntry: configuration.desktopEntry ?? "",
          uriSchemes: configuration.uriSchemes, mimeTypes: configuration.mimeTypes,
          canQuit: onQuit != nil, canRaise: onRaise != nil,
          canSetFullscreen: onFullscreen != nil, isFullscreen: isFullscreen),
        player: player?.state ?? PlayerState(), artwork: cover?.absoluteString)
    }

    private func publish() { mailbox?.publish(state) }

    private func note(_ event: PlayerEvent) {
      switch event {
      case .position, .buffered, .cached, .fetching, .streamProgress:
        publishState(afterSeek: false, wakes: false)
      case .seekCompleted: publishState(afterSeek: true, wakes: true)
      default: publishState(afterSeek: false, wakes: true)
      }
    }

    private func publishState(afterSeek: Bool, wakes: Bool) {
      updateCover()
      let state = state
      let isJump = clock.isJump(to: state, at: .now, hasSought: afterSeek)
      mailbox?.publish(state, jump: isJump ? state.position : nil, wakes: wakes)
    }

    /// Shows the picture of a new current item: a file as it is, others once they are loaded.
    private func updateCover() {
      let item = player?.state.item
      guard item != pictured.item else { return }
      let picture = item.flatMap { MediaPicture(of: $0.media) }
      // Items with one picture of their list or folder share it.
      let isSame = picture == pictured.picture
      pictured = (item, picture)
      guard !isSame else { return }
      cover = nil
      loading?.cancel()
      if case .stated(let url) = picture, url.isFileURL { return cover = url }
      if let picture { load(picture) }
    }

    private func load(_ picture: MediaPicture) {
      let earlier = loading
      loading = Task { [weak self, weak player, covers] in
        // When this one is over, so are all before it.
        await earlier?.value
        guard !Task.isCancelled, let url = await picture.url() else { return }
        let file: URL?
        if url.isFileURL {
          file = url
        } else {
          // A picture that cannot be loaded or written is left out.
          guard let bytes = try? await player?.artwork(at: url), !bytes.isEmpty, !Task.isCancelled
          else { return }
          file = try? await covers.store(bytes)
        }
        // A task that is not cancelled loads the current picture.
        guard let self, let file, !Task.isCancelled else { return }
        cover = file
        publish()
      }
    }

    // MARK: Calls

    private func perform(_ call: MPRISCall) -> MPRISAnswer {
      guard let player else { return Self.gone }
      defer { publish() }
      switch state.decide(call) {
      case .player(let commands): for command in commands { player.send(command) }
      // The client has its answer before the app is gone.
      case .quit: later { $0.onQuit?() }
      case .raise: later { $0.onRaise?() }
      case .setFullscreen(let isWanted): onFullscreen?(isWanted)
      case .open(let uri): return open(uri, at: .now, of: player)
      case .add(let uri, let id, let isCurrent):
        return open(uri, at: .after(id, isCurrent: isCurrent), of: player)
      case .refused(let refusal): return .refused(refusal)
      }
      return .done
    }

    private func later(_ act: @escaping @MainActor (MPRIS) -> Void) {
      Task { [weak self] in
        if let self { act(self) }
      }
    }

    private func open(
      _ uri: String, at place: MPRISOpenings.QueuePlace, of player: Player
    ) -> MPRISAnswer {
      if let onOpen {
        openings.open(at: place, of: player) { await onOpen(uri) }
      } else if let url = URL(text: uri) {
        openings.insert([Media(url)], at: place, of: player)
      } else {
        return .refused(MPRISRefusal(kind: .invalidArguments, text: "This is not a URI."))
      }
      return .done
    }
  }
#endif
