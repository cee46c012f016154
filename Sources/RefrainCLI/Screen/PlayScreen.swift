// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import RefrainPlayer
  import RefrainPlayerStreams

  /// The screen of `play`: shows a player, and performs the actions of keys.
  @MainActor
  final class PlayScreen {
    /// How the screen was left.
    enum Ending: Sendable {
      case asked
      case interrupted(CInt)
    }

    private let terminal: Terminal
    private let renderer: ScreenRenderer
    private var model = ScreenModel()
    private var player: Player?
    private var shownQueue = ShownQueue()
    private var known = KnownItems()
    private var traffic = ScreenTraffic()
    private let controls = PlayControl()
    private let additions: QueueAddition
    private var cache: MediaCache?
    private let cover: ErrorOutputCover?
    private let showsVideo: Bool
    private var messages = ScreenMessages()
    private var ending: Ending?
    private let dirty: AsyncStream<Void>.Continuation
    private var tasks: [Task<Void, Never>] = []
    private var lookingUp: Task<Void, Never>?
    /// The number of look-ups so far.
    private var lookups = 0
    private let keys: Task<Void, Never>

    /// Shows the screen; returns nil if there is no terminal.
    ///
    /// - Parameter showsVideo: whether windows may be opened; otherwise players play no pictures.
    init?(options: GlobalOptions, showsVideo: Bool = false) {
      let console = Console.shared
      guard console.hasScreen, let terminal = Terminal(isColoured: console.isColoured) else {
        return nil
      }
      self.terminal = terminal
      self.showsVideo = showsVideo
      additions = QueueAddition(options)
      cover = showsVideo && options.logLevel < .debug ? ErrorOutputCover() : nil
      renderer = ScreenRenderer(console.barStyle)
      model.isOffline = options.offline
      let (changes, dirty) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))
      self.dirty = dirty
      let (notes, noted) = AsyncStream.makeStream(of: String.self)
      console.divert { noted.yield($0) }
      let (arrived, arrival) = AsyncStream.makeStream(of: TerminalEvent.self)
      // A relay: this task must not capture `self` before it is initialized.
      keys = Task {
        for await event in terminal.events { arrival.yield(event) }
        arrival.finish()
      }
      tasks = [
        Task { [weak self] in for await event in arrived { self?.take(event) } },
        Task { [weak self] in for await line in notes { self?.add(.init(noted: line)) } },
        Task { [weak self] in
          for await _ in changes {
            self?.draw()
            // About twenty-five times a second. On cancellation the stream ends.
            try? await Task.sleep(for: .milliseconds(40))
          }
        },
        Task { [weak self] in
          // Speed and timers change without events.
          while !Task.isCancelled {
            self?.dirty.yield()
            // On cancellation the loop ends.
            try? await Task.sleep(for: .milliseconds(500))
          }
        },
      ]
    }

    /// Whether the screen was left, or is about to be.
    var isOver: Bool { ending != nil }

    /// Shows this player from now on, in place of the previous one.
    func follow(_ player: Player, _ cache: MediaCache) {
      (self.player, self.cache) = (player, cache)
      known = KnownItems()
      shownQueue = ShownQueue()
      traffic = ScreenTraffic()
      lookingUp?.cancel()
      lookingUp = Task { [weak self] in
        while !Task.isCancelled {
          await self?.refresh(in: cache)
          // On cancellation the loop ends.
          try? await Task.sleep(for: .seconds(2))
        }
      }
      dirty.yield()
    }

    /// Records an event of the player.
    func note(_ event: PlayerEvent) {
      known.note(event)
      dirty.yield()
    }

    /// Records that a request for an item failed and is sent again.
    func note(trouble: MediaCacheError, of id: PlayQueue.Item.ID) {
      known.note(trouble: trouble.reason, of: id)
      dirty.yield()
    }

    func add(_ message: ScreenModel.Message) {
      messages.add(message, at: .now)
      dirty.yield()
    }

    /// Releases the terminal. Returns the reason if the screen itself ended.
    func leave() async -> Ending? {
      terminal.leave()
      additions.cancel()
      await keys.value
      cover?.remove()
      Console.shared.divert(to: nil)
      lookingUp?.cancel()
      for task in tasks { task.cancel() }
      return ending
    }

    // MARK: Drawing

    private func draw() {
      guard let player, ending == nil else { return }
      let state = player.state
      model.showItem(of: state, known: known.items)
      showQueue(of: state)
      model.speed = traffic.speed(state)
      model.messages = messages.current(at: .now)
      let size = terminal.size
      terminal.show(renderer.lines(model, size), size)
    }

    /// A stream has a thousand segments, so it is looked up only at each of so many look-ups.
    private static let streamPace = 10

    /// Looks up the stored part of the items around the selected one.
    private func refresh(in cache: MediaCache) async {
      guard let player else { return }
      let order = player.queue.playOrder
      let focus = model.queue.focus(in: order.map(\.id.rawValue))
      defer { lookups += 1 }
      for item in order.dropFirst(max(0, focus - 30)).prefix(60) where item.id != player.item?.id {
        guard let resource = item.media.resource else { continue }
        let isKnown = known.items[item.id]?.cached != nil
        // An item that cannot be looked up is unknown.
        let part =
          try? await StoredPart(cache: cache, isSoundOnly: !showsVideo)
          .fraction(of: resource, withStream: !isKnown || lookups.isMultiple(of: Self.streamPace))
        guard self.player === player, !Task.isCancelled else { return }
        switch part {
        case .known(let fraction): known.note(cached: fraction, of: item.id)
        case .unknown, nil: known.note(cached: nil, of: item.id)
        case .unchanged: break
        }
      }
      dirty.yield()
    }

    // MARK: Keys

    private func take(_ event: TerminalEvent) {
      switch event {
      case .key(let key):
        let action = ScreenAction(
          key, isFiltering: model.queue.filter != nil, isTyping: model.typedLine != nil,
          isHelpVisible: model.isHelpVisible)
        if let action { perform(action, isBreak: key.modifiers == .control) }
      case .resized: break
      case .closed: end(.interrupted(SIGHUP))
      }
      dirty.yield()
    }

    /// Performs the action of a key in the window of a video.
    func take(windowKey name: String) {
      if let action = ScreenAction(windowKey: name) { perform(action, isBreak: false) }
      dirty.yield()
    }

    /// Ends playing, as the key does.
    func quit() { end(.asked) }

    private func end(_ how: Ending) {
      guard ending == nil else { return }
      ending = how
      Task { [player] in await player?.close() }
    }

    private func showQueue(of state: PlayerState) {
      if shownQueue.isNews(state, known) { model.showQueue(of: state, known: known.items) }
    }

    private func perform(_ action: ScreenAction, isBreak: Bool) {
      // Keys act on the current queue: several may arrive before it is drawn again.
      if let player { showQueue(of: player.state) }
      switch action {
      case .quit: end(isBreak ? .interrupted(SIGINT) : .asked)
      case .suspend: terminal.suspend()
      case .redraw: terminal.redraw()
      case .showHelp: (model.isHelpVisible, model.helpOffset) = (true, 0)
      case .hideHelp: model.isHelpVisible = false
      case .scrollHelp(let lines): scrollHelp(by: lines)
      case .scrollHelpPage(let pages):
        scrollHelp(by: pages * max(1, renderer.helpRoom(terminal.size.rows) - 1))
      case .select(let step): model.queue.select(by: step)
      case .selectPage(let pages): model.queue.select(by: pages * max(1, terminal.size.rows / 2))
      case .selectFirst: model.queue.selectFirst()
      case .selectLast: model.queue.selectLast()
      case .beginFilter: model.queue.beginFilter()
      case .endFilter: model.queue.endFilter()
      case .clearFilter: model.queue.clearFilter()
      case .untype: model.queue.untype()
      case .type(let text): model.queue.type(text)
      case .beginTime, .beginAddition, .typeLine, .untypeLine, .clearLine, .endLine, .enterLine:
        switch model.perform(typing: action, on: player) {
        case .none: break
        case .refused(let reason): add(.init(text: reason))
        case .add(let arguments):
          guard let player, let cache else { break }
          additions.add(arguments, to: player, from: cache) { [weak self] in self?.add($0) }
        }
      default: if let player { control(player, action) }
      }
    }

    private func scrollHelp(by lines: Int) {
      let most = renderer.helpOverflow(terminal.size)
      model.helpOffset = min(max(0, min(model.helpOffset, most) + lines), most)
    }

    private func control(_ player: Player, _ action: ScreenAction) {
      switch action {
      case .playSelected:
        guard let id = selected(player) else { break }
        model.queue.endFilter()
        model.queue.deselect()
        player.jump(to: id)
      case .removeSelected: if let id = selected(player) { player.remove(id) }
      case .moveSelected(let step): move(player, step)
      default: controls.perform(action, on: player) { add(.init(text: $0)) }
      }
    }

    private func selected(_ player: Player) -> PlayQueue.Item.ID? {
      guard let row = model.queue.selection else { return nil }
      return player.queue.items.first { $0.id.rawValue == row.id }?.id
    }

    private func move(_ player: Player, _ step: Int) {
      guard !player.queue.isShuffled else {
        return add(.init(text: "Shuffled items cannot be moved. Press S to play in order."))
      }
      guard let id = selected(player),
        let index = player.queue.items.firstIndex(where: { $0.id == id })
      else { return }
      // The selection moves along, even if it only followed the current item.
      model.queue.select(by: 0)
      player.move(id, to: index + step)
    }
  }
#endif
