// SPDX-License-Identifier: MIT
#if os(Linux)
  import RefrainPlayer

  extension ScreenModel {
    /// Performs an action of the line in which a position is typed.
    ///
    /// - Returns: what the listener has to know; nil: nothing.
    @MainActor
    mutating func perform(typing action: ScreenAction, on player: Player?) -> String? {
      switch action {
      case .beginTime: typedTime = TypedTime()
      case .typeTime(let text): typedTime?.type(text)
      case .untypeTime: if typedTime?.untype() == false { typedTime = nil }
      case .clearTime: typedTime?.clear()
      case .endTime: typedTime = nil
      case .seekToTime:
        let target = typedTime?.target(in: player?.duration)
        if case .refused(let reason) = target { return reason }
        typedTime = nil
        if case .position(let position) = target { player?.seek(to: position) }
      default: break
      }
      return nil
    }
  }
#endif
