// SPDX-License-Identifier: MIT
#if os(Linux)
  import Refrain

  /// The media of URIs that clients play or add. The app may take long to find them: none waits for
  /// another, and their order in the queue does not depend on which are found first.
  @MainActor
  final class MPRISOpenings {
    /// The place of media in the queue.
    enum QueuePlace: Sendable, Hashable {
      /// They play now, before the rest of the queue.
      case now
      /// Behind an item; nil: at the start. Behind one that is gone by now: at the end.
      case after(PlayQueue.Item.ID?, isCurrent: Bool)
    }

    private struct Opening {
      var place: QueuePlace
      var task: Task<Void, Never>
    }

    /// Those whose media are not found yet, by the numbers of the calls.
    private var pending: [Int: Opening] = [:]
    private var lastNumber = 0

    deinit {
      for opening in pending.values { opening.task.cancel() }
    }

    /// Inserts media when they are found. Nothing is inserted if there are none.
    func open(
      at place: QueuePlace, of player: Player,
      find: @escaping @MainActor @Sendable () async -> [Media]
    ) {
      let number = begin(place)
      let task = Task { [weak self, weak player] in
        let media = await find()
        guard let self, let place = pending.removeValue(forKey: number)?.place, let player,
          !media.isEmpty
        else { return }
        insert(media, at: place, of: player, number)
      }
      pending[number] = Opening(place: place, task: task)
    }

    /// Inserts media at once.
    func insert(_ media: [Media], at place: QueuePlace, of player: Player) {
      insert(media, at: place, of: player, begin(place))
    }

    /// Inserts nothing any more of what is not found yet.
    func cancel() {
      for opening in pending.values { opening.task.cancel() }
      pending = [:]
    }

    /// Returns the number of a new call. A call to play takes the place of those before it.
    private func begin(_ place: QueuePlace) -> Int {
      lastNumber += 1
      if case .after(_, isCurrent: false) = place { return lastNumber }
      for (number, opening) in pending {
        switch opening.place {
        case .now:
          opening.task.cancel()
          pending[number] = nil
        case .after(let id, _): pending[number]?.place = .after(id, isCurrent: false)
        }
      }
      return lastNumber
    }

    private func insert(_ media: [Media], at place: QueuePlace, of player: Player, _ number: Int) {
      switch place {
      case .now:
        let index = player.queue.currentIndex.map { $0 + 1 } ?? player.queue.items.count
        player.insertNext(media)
        if player.queue.items.indices.contains(index) {
          player.jump(to: player.queue.items[index].id)
        }
      case .after(let id, let isCurrent):
        let items = player.queue.items
        let before = id.map { id in items.firstIndex { $0.id == id } ?? items.count - 1 } ?? -1
        player.insert(media, at: before + 1)
        let added = player.queue.items.dropFirst(before + 1).prefix(media.count)
        guard let first = added.first, let last = added.last else { return }
        // Of two calls, the later one inserts directly behind the item.
        for (earlier, opening) in pending where earlier < number {
          guard case .after(id, let isCurrent) = opening.place else { continue }
          pending[earlier]?.place = .after(last.id, isCurrent: isCurrent)
        }
        if isCurrent { player.jump(to: first.id) }
      }
    }
  }
#endif
