// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain

  @testable import RefrainPlayer

  extension MPRISState {
    /// A player with a queue, whose first item plays.
    static func sample(
      _ names: [String] = ["one", "two", "three"], _ change: (inout PlayerState) -> Void = { _ in }
    ) -> MPRISState {
      var player = PlayerState()
      player.queue = PlayQueue(seed: 1)
      player.queue.append(names.map { Media(URL(filePath: "/\($0).ogg"), title: $0) })
      if !names.isEmpty { (player.status, player.wantsToPlay) = (.playing, true) }
      player.duration = .seconds(60)
      change(&player)
      return MPRISState(app: .sample, player: player)
    }

    /// The path of the item at `index` of the queue.
    func track(_ index: Int) -> String { MPRISTrackID.path(player.queue.items[index].id) }

    func id(_ index: Int) -> PlayQueue.Item.ID { player.queue.items[index].id }
  }

  extension MPRISState.App {
    static let sample = Self(
      identity: "Sample", desktopEntry: "sample", uriSchemes: ["file", "https"],
      mimeTypes: ["audio/ogg"])
  }
#endif
