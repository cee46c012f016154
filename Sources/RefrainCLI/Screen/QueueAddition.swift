// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import RefrainPlayer

  /// Adds the media to the queue that are typed in the screen.
  @MainActor
  final class QueueAddition {
    typealias Tell = @MainActor @Sendable (ScreenModel.Message) -> Void

    private let options: GlobalOptions
    private var running: [Int: Task<Void, Never>] = [:]
    private var lastNumber = 0

    /// The problems of an addition that are shown.
    private static let problemLimit = 2

    init(_ options: GlobalOptions) { self.options = options }

    /// Finds media, and appends them in the order of calls. They play if nothing was in the queue.
    ///
    /// - Parameters:
    ///   - arguments: paths and URLs, as arguments of `play`.
    ///   - player: the player of the queue.
    ///   - cache: stores lists that are read.
    ///   - tell: receives what the listener has to know.
    func add(
      _ arguments: [String], to player: Player, from cache: MediaCache, tell: @escaping Tell
    ) {
      let earlier = running[lastNumber]
      lastNumber += 1
      running[lastNumber] = Task { [weak self, weak player, options, number = lastNumber] in
        let result: Result<AddedMedia, any Error>
        do {
          let show: @Sendable (String) -> Void = { line in
            Task { @MainActor in tell(.init(text: line)) }
          }
          result = .success(
            try await AddedMedia(
              arguments, beside: player?.queue.items ?? [], options, from: cache, showing: show))
        } catch {
          result = .failure(error)
        }
        await earlier?.value
        self?.running[number] = nil
        guard let player, !Task.isCancelled else { return }
        Self.finish(result, arguments, player, tell)
      }
    }

    /// Adds nothing any more of what is not found yet.
    func cancel() {
      for task in running.values { task.cancel() }
      running = [:]
    }

    private static func finish(
      _ result: Result<AddedMedia, any Error>, _ arguments: [String], _ player: Player,
      _ tell: Tell
    ) {
      switch result {
      case .failure(let error):
        let name = arguments.count == 1 ? printable(arguments[0]) : "What was pasted"
        tell(.init(text: "\(name) was not added: \(printable("\(error)"))", level: .error))
      case .success(let added):
        for problem in added.problems.prefix(problemLimit) {
          // Beside the full path there would be no room for the remedy.
          let reason = problem.reason.replacing(
            FileManager.default.currentDirectoryPath + "/", with: "")
          tell(.init(text: printable("\(reason) \(problem.remedy)"), level: .error))
        }
        guard let first = added.media.first else { return }
        let wasEmpty = player.queue.isEmpty
        player.enqueue(added.media)
        if wasEmpty, let item = player.queue.items.first { player.jump(to: item.id) }
        tell(
          .init(
            text: added.media.count == 1
              ? "Added to the queue: \(printable(URLArgument.name(of: first.url)))"
              : "Added to the queue: \(added.media.count) items"))
      }
    }
  }
#endif
